import type { Database } from './database.ts'

/** Notifies all processes of changed keys. A notification may be lost, so readers also poll. */
export interface Notifier {
  /** Call it after the commit: `NOTIFY` in a transaction serializes its commit with all others that notify. */
  publish(keys: Iterable<string>): void
}

/** How often {@link createNotifier} notifies, and how much may wait. */
export interface NotifierOptions {
  /** From the start of one notification to that of the next, in milliseconds. Default 5. */
  readonly spacingMs?: number
  /** The maximum number of waiting keys; with more, everything counts as changed. Default 10,000. */
  readonly maxWaiting?: number
}

/** PostgreSQL takes payloads of less than 8000 bytes. */
const maxPayloadBytes = 7_900
/** How long to wait for the server; keys that arrive meanwhile go with the next notification. */
const timeoutMs = 2_000
const everything = '*'

/** Notifies on `channel`, apart from all transactions: one statement at a time, in which what has gathered goes together. */
export function createNotifier(
  database: Pick<Database, 'query'>,
  channel: string,
  { spacingMs = 5, maxWaiting = 10_000 }: NotifierOptions = {},
): Notifier {
  let waiting = new Set<string>()
  let overflowed = false
  let running = false
  const send = async () => {
    const payloads = overflowed ? [everything] : payloadsOf(waiting)
    waiting = new Set()
    overflowed = false
    const text = 'SELECT count(pg_notify($1, payload)) FROM unnest($2::text[]) AS payload'
    const spaced = new Promise((resolve) => setTimeout(resolve, spacingMs).unref())
    await database.query({ text, values: [channel, payloads], timeoutMs }).catch(() => {})
    await spaced
  }
  const run = async () => {
    while (waiting.size > 0 || overflowed) await send()
    running = false
  }
  return {
    publish(keys) {
      for (const key of keys) {
        if (overflowed) break
        waiting.add(key)
        overflowed = waiting.size > maxWaiting
      }
      if (running || (waiting.size === 0 && !overflowed)) return
      running = true
      // What is committed in one turn of the loop goes together.
      setImmediate(run)
    },
  }
}

function payloadsOf(keys: ReadonlySet<string>): string[] {
  const payloads: string[] = []
  let part: string[] = []
  let bytes = 2
  const end = () => {
    if (part.length > 0) payloads.push(`[${part.join(',')}]`)
    part = []
    bytes = 2
  }
  for (const key of keys) {
    const written = JSON.stringify(key)
    const size = Buffer.byteLength(written) + 1
    if (bytes + size > maxPayloadBytes) end()
    part.push(written)
    bytes += size
  }
  end()
  return payloads
}

/** The keys of a notification's payload; undefined where everything may have changed. */
export function changedKeys(payload: string): string[] | undefined {
  if (payload === everything) return undefined
  try {
    const keys: unknown = JSON.parse(payload)
    return Array.isArray(keys) ? keys.map(String) : undefined
  } catch {
    return undefined
  }
}
