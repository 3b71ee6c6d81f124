import type { ServerResponse } from 'node:http'

const reconnectMs = 3_000

/** Starts a response of server-sent events (WHATWG HTML §9.2). */
export function beginStream(response: ServerResponse, headers: Readonly<Record<string, unknown>>, requestId: string) {
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) response.setHeader(name, value as string)
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
  })
  response.write(`retry: ${reconnectMs}\n\n`)
}

/** A reader that takes nothing of what it is sent. */
export class SlowReader extends Error {}

/** Writes to a stream, and waits until the reader has taken it. @throws SlowReader when it takes nothing for two heartbeats */
export async function writeAndDrain(response: ServerResponse, text: string, heartbeatMs: number): Promise<void> {
  if (response.write(text) || response.destroyed) return
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => reject(new SlowReader('the reader takes nothing')), 2 * heartbeatMs)
  const done = () => resolve()
  response.once('drain', done).once('close', done)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    response.off('drain', done).off('close', done)
  }
}
