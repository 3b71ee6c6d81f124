/** Reads one stream of each user, and tells when all are open and when all items have come. */
import { get } from 'node:http'

const [port, streams, items] = process.argv.slice(2).map(Number)
const delays: number[] = []

process.once('message', async () => {
  const opened = Array.from({ length: streams ?? 0 }, (_, n) => open(`u${n}`))
  await Promise.all(opened)
  process.send?.('open')
})

function open(user: string): Promise<void> {
  return new Promise((resolve) => {
    const headers = { authorization: user }
    get({ port, path: `/v1/users/${user}/inbox/stream`, headers, agent: false }, (response) => {
      response.setEncoding('utf8').on('data', (chunk: string) => {
        if (chunk.includes('"items":[]')) resolve()
        for (const [, at] of chunk.matchAll(/"body":"(\d+)"/g)) take(Date.now() - Number(at))
      })
    })
  })
}

function take(delay: number): void {
  delays.push(delay)
  if (delays.length < (items ?? 0)) return
  delays.sort((a, b) => a - b)
  const share = (part: number) => delays[Math.floor(delays.length * part)] ?? 0
  process.send?.({ p50: share(0.5), p99: share(0.99) })
}
