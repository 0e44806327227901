# awk -f Scripts/catalog.awk Sources/M/M.docc/M.md Sources/M/*.swift: the public types and functions of a module, and the types nested in those, that
# the page of the module has in no group, and what the page lists twice, or the module does not have. Status 1 for any.
#
# Iterators and what is behind an @_spi are not asked for, nor types that are nested deeper.
FILENAME ~ /\.md$/ {
    if (/^- (``|<doc:)/ && seen[$0]++) { print "docs: the catalog lists " substr($0, 3) " twice"; wrong = 1 }
    if (match($0, /^- ``[^`(]+/)) listed[substr($0, 5, RLENGTH - 4)] = 1
    next
}
/^[^ \/})#]/ {
    outer = ""
    if ($0 !~ /@_spi/ && match($0, /(struct|class|enum|protocol|actor|typealias|extension|public func) [A-Za-z.]+/)) {
        outer = substr($0, RSTART, RLENGTH)
        sub(/.* /, "", outer)
        gsub(/\./, "/", outer)
        if ($0 ~ /^(@[A-Za-z]+ )*(public|open) /) found[outer] = 1
    }
}
/^    (@[A-Za-z]+ )*public ([a-z]+ )*(struct|class|enum|protocol|actor|typealias) / && outer != "" && outer !~ /\// {
    match($0, /(struct|class|enum|protocol|actor|typealias) [A-Za-z]+/)
    name = substr($0, RSTART, RLENGTH)
    sub(/.* /, "", name)
    if (name !~ /Iterator$|^Element$|^Failure$/) nested[outer "/" name] = outer
}
END {
    for (name in nested) if (nested[name] in found) found[name] = 1
    for (name in found) if (!(name in listed)) { print "docs: " name " is in no group of the catalog"; wrong = 1 }
    for (name in listed) if (!(name in found) && name !~ /\/.*\//) { print "docs: the catalog lists " name ", which is not there"; wrong = 1 }
    exit wrong
}
