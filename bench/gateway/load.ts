import { connect, type Socket } from 'node:net'

export interface Load {
  readonly url: string
  /** Sent one after another on each connection. */
  readonly requests?: readonly string[]
  /** Makes each request instead. */
  readonly next?: () => string
  /** The status of each response. Default 200. */
  readonly status?: number
  readonly connections: number
  readonly seconds: number
  /** Requests a second over all connections; as many as are answered when left out. */
  readonly rate?: number
  /** Takes the latency of each response in milliseconds, from when its request was due: with a rate, waiting counts. */
  readonly latencies?: number[]
}

/** Asks for some seconds on kept-alive connections; answers how many were served. Throws when one is not. */
export async function ask(load: Load): Promise<number> {
  const until = performance.now() + load.seconds * 1_000
  const counts = Array.from({ length: load.connections }, (_, nth) => askOnOne(load, nth, until))
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

function askOnOne(load: Load, nth: number, until: number): Promise<number> {
  const { url, requests = [], connections, rate, status = 200 } = load
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  const pauseMs = rate === undefined ? 0 : (1_000 * connections) / rate
  let served = 0
  return new Promise((resolve, reject) => {
    const next = () => socket.write(load.next?.() ?? requests[(nth + served * connections) % requests.length] ?? '')
    let due = performance.now() + (pauseMs * nth) / connections
    onAnswers(socket, (answer) => {
      if (!answer.startsWith(`HTTP/1.1 ${status} `)) return socket.destroy(new Error(answer))
      served++
      load.latencies?.push(performance.now() - due)
      if (performance.now() >= until) return socket.destroy()
      due = pauseMs === 0 ? performance.now() : due + pauseMs
      if (pauseMs === 0) next()
      else setTimeout(next, Math.max(0, due - performance.now()))
    })
    socket.once('connect', () => setTimeout(next, Math.max(0, due - performance.now())))
    socket.once('error', reject)
    socket.once('close', () => resolve(served))
  })
}

/** Calls back with each answer's head, once the body its Content-Length tells of is there too. */
function onAnswers(socket: Socket, done: (answer: string) => void): void {
  let received = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    received += chunk
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = /content-length: *(\d+)/i.exec(received)?.[1]
    if (length === undefined) socket.destroy(new Error(`an answer without Content-Length: ${received}`))
    else if (received.length >= end + 4 + Number(length)) {
      const answer = received
      received = ''
      done(answer)
    }
  })
}
