import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** The script of Scalar's API reference. */
export interface ScalarScript {
  /** Compressed with gzip. */
  readonly text: Buffer
  /** Its entity tag. */
  readonly tag: string
}

const readTimeoutMs = 60_000
let kept: Promise<ScalarScript> | undefined

/** Reads the script when it is first asked for, then keeps it (1.4 MB). */
export function scalarScript(): Promise<ScalarScript> {
  kept ??= readScript().catch((error: unknown) => {
    kept = undefined
    throw error
  })
  return kept
}

async function readScript(): Promise<ScalarScript> {
  const worker = new Worker(new URL('read-script.ts', import.meta.url))
  try {
    const [bytes] = (await once(worker, 'message', { signal: AbortSignal.timeout(readTimeoutMs) })) as [Uint8Array]
    return { text: Buffer.from(bytes), tag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
  } finally {
    await worker.terminate()
  }
}
