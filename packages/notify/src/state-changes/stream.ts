import type { ServerResponse } from 'node:http'
import { type Log, Problem } from '@gatehouse/kit'
import type { ChangeReaderRules } from '../config/options.ts'
import { SlowReader, writeAndDrain } from '../request/event-stream.ts'
import type { StateChanges } from '../store/store.ts'
import { type Beginning, changeRecord, readPage } from './page.ts'
import type { ChangeReaders } from './readers.ts'

/** What a stream of state changes needs. */
export interface ChangeStreamOptions {
  readonly stateChanges: StateChanges
  readonly readers: ChangeReaders
  readonly rules: ChangeReaderRules
  readonly response: ServerResponse
  /** How long the reader's token still lives, in milliseconds. */
  readonly lifeMs: number
  readonly log: Log
}

/**
 * Sends state changes as they are logged, until `ending` is aborted, the reader leaves, or its time is over. It holds a
 * page at most: the next is read when the reader has taken what is on its way, and one that takes nothing for two
 * heartbeats is cut off.
 */
export async function sendChanges(
  { stateChanges, readers, rules, response, lifeMs, log }: ChangeStreamOptions,
  beginning: Beginning,
  ending: AbortController,
): Promise<void> {
  const life = setTimeout(() => ending.abort(), Math.max(0, Math.min(lifeMs, rules.maxLifeMs)))
  const end = () => ending.abort()
  response.once('close', end)
  readers.closing.addEventListener('abort', end)
  try {
    let { after } = beginning
    while (!ending.signal.aborted) {
      const page = await readPage(stateChanges, { ...beginning, after })
      after = page.through
      const text = page.changes.map(changeEvent).join('')
      if (text !== '') await writeAndDrain(response, text, rules.heartbeatMs)
      if (after < page.last) continue
      const isMore = await readers.more(after, AbortSignal.any([ending.signal, AbortSignal.timeout(rules.heartbeatMs)]))
      if (!isMore && !ending.signal.aborted) await writeAndDrain(response, `: ${after}\n\n`, rules.heartbeatMs)
    }
  } catch (error) {
    if (error instanceof Problem && error.status === 410)
      response.write(`event: gone\ndata: ${JSON.stringify(error.body())}\n\n`)
    else if (!(error instanceof SlowReader)) log.warn({ err: error }, 'a stream of state changes was ended')
  } finally {
    clearTimeout(life)
    readers.closing.removeEventListener('abort', end)
    if (response.writableNeedDrain) response.destroy()
    else response.end()
  }
}

function changeEvent(change: Parameters<typeof changeRecord>[0]): string {
  return `id: ${change.sequence}\ndata: ${JSON.stringify(changeRecord(change))}\n\n`
}
