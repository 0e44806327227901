# What Swift Testing recorded in a log of `swift test`, with the arguments and what was said to each issue.
#
#   awk -v name=debug -f test-issues.awk LOG
#
# Sixty lines at most: enough to mend a test by when the log itself is on another machine.

function tell(text) { if (told++ < 60) print substr(text, 1, 400) }

{ gsub(/\033\[[0-9;]*[A-Za-z]/, ""); sub(/\r$/, "") }
/✘ (Test|Suite) .* recorded an issue/ { left = 6; sub(/^.*✘ (Test|Suite) /, ""); tell(name ": " $0); next }
/^(✘|✔|◇|➜|━) / || /^\[[0-9]+\/[0-9]+\]/ { left = 0 }
left > 0 && NF { left--; tell("    " $0) }
