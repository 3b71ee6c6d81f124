import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

let kept: Promise<Uint8Array> | undefined

/** The script of Scalar's API reference, compressed with gzip. Read when it is first asked for, then kept (1.4 MB). */
export function scalarScript(): Promise<Uint8Array> {
  kept ??= readScript().catch((error: unknown) => {
    kept = undefined
    throw error
  })
  return kept
}

async function readScript(): Promise<Uint8Array> {
  const worker = new Worker(new URL('read-script.ts', import.meta.url))
  try {
    const [script] = (await once(worker, 'message', { signal: AbortSignal.timeout(readTimeoutMs) })) as [Uint8Array]
    return script
  } finally {
    await worker.terminate()
  }
}

const readTimeoutMs = 60_000
