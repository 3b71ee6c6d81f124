/** The provider of the benchmark: takes every message over HTTP, in a process of its own, and says when each came in. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

let count = 0
let lateness: number[] = []

const server = createServer((request, response) => {
  let text = ''
  request.on('data', (chunk) => {
    text += chunk
  })
  request.on('end', () => {
    count++
    const at = /track\/(\d+)/.exec(text)?.[1]
    if (at) lateness.push(Date.now() - Number(at))
    response.end('{}')
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('message', (message) => {
  if (message === 'reset') {
    count = 0
    lateness = []
  }
  lateness.sort((a, b) => a - b)
  process.send?.({
    count,
    p50Ms: lateness[lateness.length >> 1] ?? 0,
    p99Ms: lateness[Math.floor(lateness.length * 0.99)] ?? 0,
  })
})
