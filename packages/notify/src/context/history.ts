import {
  type Clock,
  createTally,
  type Log,
  prometheusReader,
  type Secret,
  type StatReader,
  type StatRecorder,
  type StatStore,
  startStatRecorder,
  type Tally,
  withUnwritten,
} from '@gatehouse/kit'
import { prometheusSources } from '../model/measure.ts'

/** What the history is kept with. */
export interface HistoryOptions {
  readonly store: StatStore
  readonly prometheusUrl?: Secret | undefined
  readonly clock: Clock
  readonly log: Log
}

/** What is counted over time, and where it is read: in Prometheus where there is one, which knows no event and no domain. */
export interface History {
  readonly tally: Tally
  readonly recorder: StatRecorder
  readonly history: StatReader
}

/** Begins to count, and to write what is counted. */
export function createHistory({ store, prometheusUrl: url, clock, log }: HistoryOptions): History {
  const tally = createTally(clock.now())
  const recorder = startStatRecorder({ name: 'notify stats', tally, store, clock, log })
  const own = withUnwritten(store, recorder, clock)
  const history = url === undefined ? own : prometheusReader({ url, sources: prometheusSources, fallback: own })
  return { tally, recorder, history }
}
