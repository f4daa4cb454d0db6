#!/bin/sh
# NAME: what this plugin adds to Hermes. It speaks newline-delimited JSON-RPC 2.0 on its standard input and output;
# docs/PLUGINS.md describes all of it. Standard error is for you: `hermes plugins check NAME` shows it.

answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }

while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*)
        answer '{"protocol":1,
            "tools":[{"name":"NAME_now","description":"Tells the time of this machine.","emoji":"🕰",
                      "parameters":{"type":"object","properties":{}}}],
            "hooks":[{"event":"pre_tool_call","matcher":"terminal"}],
            "commands":[{"name":"NAME","description":"Say hello"}]}' | tr -d '\n'
        echo ;;
    *'"method":"tool.call"'*) answer "{\"content\":\"$(date)\"}" ;;
    *'"method":"hook.run"'*)
        case $line in
        *'rm -rf /'*) answer '{"action":"block","message":"NAME does not let this run"}' ;;
        *) answer null ;;
        esac ;;
    *'"method":"command.run"'*) answer '{"text":"Hello from NAME."}' ;;
    *'"method":"shutdown"'*) exit 0 ;;
    esac
done
