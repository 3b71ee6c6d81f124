import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One call, as the provider saw it. */
export interface ProviderCall {
  readonly id: string
  readonly userId: string
  readonly channel: string
  readonly event: string
  readonly body: string
  /** The process that called. */
  readonly pid: number
  /** When it called. */
  readonly sentAt: number
  /** When it was taken, later on a machine that is busy. */
  readonly at: number
  readonly isAnswered: boolean
}

/**
 * A provider that takes everything and keeps a log of its own: the only witness the simulation believes. Of every
 * `unansweredEvery` calls it takes one and never answers.
 */
export async function startFakeProvider(unansweredEvery: number) {
  const calls: ProviderCall[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const isAnswered = calls.length % unansweredEvery !== unansweredEvery - 1
      calls.push({ ...JSON.parse(text), at: Date.now(), isAnswered })
      if (isAnswered) response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
