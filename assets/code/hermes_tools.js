// Tools of this session, for a script. Each function gives a promise of what the tool returned, read from JSON.
"use strict";
const net = require("node:net");

let connection = null;
let pending = [];
let heard = [];

function lost(why) {
  connection = null;
  const waiting = pending;
  pending = [];
  waiting.forEach(([, no]) => no(new Error("Agent process disconnected" + why)));
}

function connect() {
  connection = net.connect(process.env.HERMES_RPC_SOCKET);
  connection.on("data", (data) => {
    let from = 0;
    for (let at = data.indexOf(10); at >= 0; at = data.indexOf(10, from)) {
      heard.push(data.subarray(from, at));
      from = at + 1;
      const [yes] = pending.shift();
      yes(JSON.parse(Buffer.concat(heard).toString()));
      heard = [];
    }
    heard.push(data.subarray(from));
    // A script that waits for nothing ends.
    if (pending.length === 0) connection.unref();
  });
  connection.on("error", (error) => lost(": " + error.message));
  connection.on("close", () => lost(""));
}

function call(tool, args) {
  if (!connection) connect();
  connection.ref();
  return new Promise((yes, no) => {
    pending.push([yes, no]);
    connection.write(JSON.stringify({ token: process.env.HERMES_RPC_TOKEN, tool, args }) + "\n");
  });
}

// Arguments in their order, or one object of them by name.
function stub(tool, names) {
  return (...given) => {
    const [first] = given;
    const named = given.length === 1 && first !== null && typeof first === "object" && !Array.isArray(first);
    return call(tool, named ? first : Object.fromEntries(given.map((value, at) => [names[at], value])));
  };
}

exports.json_parse = (text) => JSON.parse(text);
exports.shell_quote = (text) => "'" + String(text).replaceAll("'", "'\"'\"'") + "'";
exports.retry = async (fn, max_attempts = 3, delay = 2) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fn();
    } catch (error) {
      if (attempt >= max_attempts) throw error;
      await new Promise((later) => setTimeout(later, delay * 1000 * 2 ** (attempt - 1)));
    }
  }
};
