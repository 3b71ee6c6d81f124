/**
 * The generator: keeps `connections` busy with POST /v1/notify for some seconds, and sends what it saw to its parent. With
 * a rate (requests a second, of all connections) each is sent at its time, or late when the last answer came late; its
 * latency counts from that time.
 */
import { connect, type Socket } from 'node:net'

const [port = 0, users = 1, connections = 1, seconds = 1, rate = 0] = process.argv.slice(2).map(Number)
const latencies: number[] = []
let failed = 0
let sent = 0
const start = performance.now()
const end = start + seconds * 1_000
const run = `${process.pid}`
/** From one request of a connection to its next, in milliseconds. */
const spacingMs = rate > 0 ? (connections / rate) * 1_000 : 0

function request(): string {
  const n = sent++
  const body = `{"event":"order.shipped","user_id":"user-${Math.floor(Math.random() * users)}","data":{"order_id":"A-${n}","item":"a red bicycle","tracking_url":"https://shop.example/track/${n}"},"dedup_key":"${run}-${n}"}`
  return `POST /v1/notify HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer bench\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

function converse(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAt = performance.now()
    let answer = ''
    socket.setNoDelay(true)
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      const head = answer.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/content-length: (\d+)/i.exec(answer)?.[1])
      if (answer.length < head + 4 + length) return
      if (!answer.startsWith('HTTP/1.1 202')) failed++
      answer = ''
      const now = performance.now()
      latencies.push(now - sentAt)
      sentAt = rate > 0 ? sentAt + spacingMs : now
      if (sentAt >= end) socket.end(resolve)
      else if (sentAt <= now) socket.write(request())
      else setTimeout(() => socket.write(request()), sentAt - now)
    })
    const first = Math.random() * spacingMs
    sentAt += first
    setTimeout(() => socket.write(request()), first)
  })
}

await Promise.all(Array.from({ length: connections }, () => converse(connect(port, '127.0.0.1'))))
const took = (performance.now() - start) / 1_000
latencies.sort((a, b) => a - b)
const at = (share: number) => Math.round((latencies[Math.floor(latencies.length * share)] ?? 0) * 10) / 10
process.send?.({ count: latencies.length, perSecond: latencies.length / took, p50Ms: at(0.5), p99Ms: at(0.99), failed })
process.disconnect?.()
