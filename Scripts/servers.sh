# shellcheck shell=bash
# Servers nobody here wrote, for the integration tests: nginx, and httpbin on gunicorn. Source it after lib.sh.
#
# start_servers FOLDER starts them on free ports and writes FOLDER/servers.json, which SCOPEDNET_SERVERS names to the tests. What cannot be
# had is named there with the reason, and its tests are skipped with it. stop_servers stops what was started, by pid.

server_pids=()

free_ports() {
    python3 - "$1" <<'PYTHON'
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for one in held: one.bind(("127.0.0.1", 0))
print(*[one.getsockname()[1] for one in held])
PYTHON
}

# A root, a certificate of localhost and 127.0.0.1, and one for a client.
make_certificates() {
    local folder=$1 name subject=/CN=localhost
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=ScopedNet test root" \
        -keyout "$folder/ca.key" -out "$folder/ca.pem" || return
    for name in server client; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$subject" -keyout "$folder/$name.key" -out "$folder/$name.csr" || return
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >"$folder/$name.ext"
        openssl x509 -req -in "$folder/$name.csr" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -CAcreateserial -days 2 \
            -extfile "$folder/$name.ext" -out "$folder/$name.pem" || return
        # The pin of its key.
        openssl x509 -in "$folder/$name.pem" -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64 \
            >"$folder/$name.pin" || return
        subject=/CN=a-client
    done
}

make_site() {
    local folder=$1
    mkdir -p "$folder/www" "$folder/up"
    python3 - "$folder/www" <<'PYTHON'
import json, os, sys
root = sys.argv[1]
def write(name, data):
    with open(os.path.join(root, name), "wb") as file: file.write(data)
write("feed.json", json.dumps([{"id": n, "title": f"post {n}"} for n in range(2000)]).encode())
write("missing.html", b"<h1>no such page</h1>")
write("wait.html", b"wait")
write("empty.bin", b"")
block = bytes(n * 31 % 251 for n in range(1 << 20))
with open(os.path.join(root, "100M.bin"), "wb") as file:
    for number in range(100): file.write(bytes([number]) + block[1:])
PYTHON
    # alice:wonderland
    printf 'alice:%s\n' "$(openssl passwd -apr1 wonderland)" >"$folder/passwords"
}

# wait_for PORT PID: until something answers there or the process is gone.
wait_for() {
    local _
    for _ in $(seq 100); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return 0; fi
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# Sets nginx_json.
start_nginx() {
    local folder=$1 http https mutual tls12
    command -v nginx >/dev/null || {
        nginx_json='{"missing": "nginx is not installed"}'
        return
    }
    read -r http https mutual tls12 < <(free_ports 4)
    if ! { make_certificates "$folder" && make_site "$folder"; } >"$folder/make.log" 2>&1; then
        nginx_json='{"missing": "certificates and files for nginx could not be made"}'
        return
    fi
    # Its worker gives up root, and must reach what it serves.
    chmod 755 "$folder" "$folder/www" && chmod 777 "$folder/up"
    sed -e "s|@FOLDER@|$folder|g; s|@HTTP@|$http|g; s|@HTTPS@|$https|g; s|@MUTUAL@|$mutual|g; s|@TLS12@|$tls12|g" \
        Scripts/nginx.conf.in >"$folder/nginx.conf"
    nginx -e "$folder/error.log" -p "$folder" -c "$folder/nginx.conf" >"$folder/nginx.out" 2>&1 </dev/null &
    server_pids+=($!)
    if wait_for "$http" "$!"; then
        nginx_json="{\"http\": $http, \"https\": $https, \"mutual\": $mutual, \"tls12\": $tls12}"
    else
        nginx_json="{\"missing\": \"nginx did not start: $(tail -n 1 "$folder/error.log" "$folder/nginx.out" 2>/dev/null | tr -d '"\134' | tail -n 1)\"}"
    fi
}

# Sets httpbin_json. The Python packages stay in .build for the next time.
start_httpbin() {
    local folder=$1 venv=$PWD/.build/httpbin port log=$1/httpbin.log
    if [ ! -e "$venv/ready" ]; then
        if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --timeout 30 httpbin gunicorn && : >"$venv/ready"; } >"$log" 2>&1; then
            httpbin_json="{\"missing\": \"httpbin could not be installed from PyPI: $(tail -n 1 "$log" | tr -d '"\134')\"}"
            return
        fi
    fi
    read -r port < <(free_ports 1)
    "$venv/bin/gunicorn" --bind "127.0.0.1:$port" --workers 1 --threads 16 --keep-alive 5 httpbin:app >"$log" 2>&1 </dev/null &
    server_pids+=($!)
    if wait_for "$port" "$!"; then
        httpbin_json="{\"http\": $port}"
    else
        httpbin_json="{\"missing\": \"httpbin did not start: $(tail -n 1 "$log" | tr -d '"\134')\"}"
    fi
}

start_servers() {
    local folder=$1
    PATH=$PATH:/usr/sbin:/sbin
    mkdir -p "$folder"
    start_nginx "$folder"
    start_httpbin "$folder"
    printf '{"folder": "%s", "nginx": %s, "httpbin": %s}\n' "$folder" "$nginx_json" "$httpbin_json" >"$folder/servers.json"
    export SCOPEDNET_SERVERS=$folder/servers.json
}

stop_servers() {
    local pid
    for pid in "${server_pids[@]}"; do kill -QUIT "$pid" 2>/dev/null; done
    for pid in "${server_pids[@]}"; do
        for _ in $(seq 30); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    server_pids=()
}
