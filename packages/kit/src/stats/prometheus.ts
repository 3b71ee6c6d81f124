import { Problem } from '../problem.ts'
import type { Secret } from '../secrets/secret.ts'
import type { StatQuery, StatReader, StatRow } from './store.ts'
import type { StatLabels } from './tally.ts'

/** Where Prometheus has a measure. */
export interface PrometheusSource {
  /** The name of a counter; of a histogram with `_bucket`. */
  readonly metric: string
  /** The labels that are kept. Those of a histogram include `le`. */
  readonly labels: readonly string[]
  /** A selector without braces, such as `outcome="changed"`. */
  readonly where?: string
}

/** Options of {@link prometheusReader}. */
export interface PrometheusOptions {
  /** The address of Prometheus, which may name a user and a password. */
  readonly url: Secret
  /** By measure. Others are read from `fallback`. */
  readonly sources: Readonly<Record<string, PrometheusSource>>
  readonly fallback: StatReader
}

interface Answer {
  readonly status: string
  readonly error?: string
  readonly data?: {
    readonly result: ReadonlyArray<{
      readonly metric: StatLabels
      readonly values: ReadonlyArray<readonly [at: number, value: string]>
    }>
  }
}

const timeoutMs = 5_000
const maxAnswerBytes = 16 * 1024 * 1024

/**
 * Reads the history of measures from Prometheus (`/api/v1/query_range`), within five seconds and 16 MiB.
 * @throws Problem 502 when Prometheus refuses or answers something else, 504 when it does not answer
 */
export function prometheusReader({ url: secret, sources, fallback }: PrometheusOptions): StatReader {
  return {
    async read(query) {
      const source = sources[query.measure]
      if (source === undefined) return fallback.read(query)
      const { address, headers } = requestOf(secret, source, query)
      const { status, error, data } = await ask(address, headers)
      if (status !== 'success' || data === undefined)
        throw new Problem(502, `Prometheus refused the query: ${String(error ?? status).slice(0, 200)}.`)
      const rows = data.result.flatMap(({ metric, values }) =>
        values.map(([at, value]) => ({
          at: at * 1_000 - query.stepMs,
          labels: metric,
          value: Math.round(Number(value)),
        })),
      )
      const counted = source.labels.includes('le') ? ownBuckets(rows) : rows
      return counted.filter(({ value }) => value > 0)
    },
  }
}

/** The value at the end of a step is the increase during it. */
function requestOf(secret: Secret, { metric, labels, where = '' }: PrometheusSource, { from, to, stepMs }: StatQuery) {
  const url = new URL(secret.reveal())
  const { username, password } = url
  url.username = ''
  url.password = ''
  const step = stepMs / 1_000
  const address = new URL(`${url.href.replace(/\/$/, '')}/api/v1/query_range`)
  address.search = String(
    new URLSearchParams({
      query: `sum by (${labels.join(', ')}) (increase(${metric}{${where}}[${step}s]))`,
      start: String(from / 1_000 + step),
      end: String(to / 1_000),
      step: String(step),
    }),
  )
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return { address, headers: username === '' ? {} : { authorization: `Basic ${credentials}` } }
}

async function ask(address: URL, headers: Readonly<Record<string, string>>): Promise<Answer> {
  let text: string
  try {
    const response = await fetch(address, { headers, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    text = await readText(response)
  } catch (cause) {
    if (cause instanceof Problem) throw cause
    throw new Problem(504, `Prometheus did not answer within ${timeoutMs / 1_000} seconds.`, { cause })
  }
  try {
    return JSON.parse(text) as Answer
  } catch (cause) {
    throw new Problem(502, 'Prometheus answered something that is not JSON.', { cause })
  }
}

async function readText({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body ?? []) {
    bytes += part.length
    if (bytes > maxAnswerBytes) throw new Problem(502, 'Prometheus answered more than 16 MiB.')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Prometheus counts each bucket with those below it; the difference is its own. */
function ownBuckets(rows: readonly StatRow[]): StatRow[] {
  const groups = Map.groupBy(rows, ({ at, labels: { le: _, ...labels } }) => `${at} ${JSON.stringify(labels)}`)
  return [...groups.values()].flatMap((group) => {
    let below = 0
    return group
      .toSorted((a, b) => boundOf(a) - boundOf(b))
      .map((row) => {
        const value = Math.max(0, row.value - below)
        below = Math.max(below, row.value)
        return { ...row, value }
      })
  })
}

function boundOf({ labels: { le } }: StatRow): number {
  return le === '+Inf' ? Infinity : Number(le)
}
