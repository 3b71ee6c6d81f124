import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** Sends bytes as they are and reads what comes until the connection closes. */
export async function sendRaw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(bytes, 'latin1')
  return text(socket)
}

/** A request as bytes; `Host` and `Connection: close` stand first, then the lines as they are. */
export function rawRequest(target: string, lines: readonly string[], body = '', method = 'GET'): string {
  return `${[`${method} ${target} HTTP/1.1`, 'Host: gateway.example', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n${body}`
}

/** The status codes of every answer in a connection's bytes. */
export function statuses(answer: string): number[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]))
}
