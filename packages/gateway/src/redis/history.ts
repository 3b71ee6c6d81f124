import { readFileSync } from 'node:fs'
import { parseCallerKey } from '../activity/caller-key.ts'
import {
  type CallerStep,
  callerResolutions,
  type History,
  type LabelStep,
  labelResolutions,
  maxAgeMs,
  maxCallersPerStep,
  type Resolution,
  type Steps,
  stepAt,
  stepStarts,
} from '../activity/history.ts'
import { labelText, parseLabel } from '../activity/label-counts.ts'
import type { CallerSketch, Dimension, LabelCount, Period, Rejection } from '../activity/period.ts'
import { maxRejections } from '../activity/recorder.ts'

/** The methods of an `ioredis` client that the history calls. */
export interface HistoryClient {
  eval(script: string, keyCount: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
  zrevrange(key: string, start: number, stop: number, withScores: 'WITHSCORES'): Promise<string[]>
  zmscore(key: string, ...members: string[]): Promise<(string | null)[]>
  hget(key: string, field: string): Promise<string | null>
  hgetall(key: string): Promise<Record<string, string>>
  lrange(key: string, start: number, stop: number): Promise<string[]>
}

type Outcome = 'allowed' | 'rejected'

/** All keys are in one slot of a cluster. */
const prefix = 'rl-history:{limits}'
/** Entries of one script: the server counts requests too, and does nothing else meanwhile. */
const entriesPerScript = 100
/** Callers that are read at most, of all steps together; of many steps those with the highest counts. */
const maxCallersRead = 20_000
const minCallersPerStep = 100
/** Steps that are read at a time, so that neither side is busy for long. */
const stepsPerRead = 12

const script = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
const scripts = {
  callers: script('add-callers.lua'),
  labels: script('add-labels.lua'),
  rejections: script('add-rejections.lua'),
}

/**
 * The history of all processes that share a Redis, for seven days. Give it a connection of its own: what an operator
 * reads must not delay the checks of requests.
 */
export function redisHistory(client: HistoryClient): History {
  return new RedisHistory(client)
}

class RedisHistory implements History {
  readonly maxAgeMs = maxAgeMs.shared
  readonly #client: HistoryClient

  constructor(client: HistoryClient) {
    this.#client = client
  }

  async add(period: Period): Promise<void> {
    for (const resolution of callerResolutions(this.maxAgeMs))
      for (const outcome of ['allowed', 'rejected'] as const)
        await this.#addCallers(outcome, { at: period.at, resolution }, period[outcome])
    for (const resolution of labelResolutions(this.maxAgeMs))
      await this.#addLabels({ at: period.at, resolution }, period.labels)
    await this.#addRejections(period.rejections)
  }

  async callers(outcome: Outcome, steps: Steps): Promise<CallerStep[]> {
    const starts = stepStarts(steps)
    const perStep = Math.max(minCallersPerStep, Math.floor(maxCallersRead / Math.max(1, starts.length)))
    const max = Math.min(maxCallersPerStep, perStep)
    return inGroups(starts, (at) => this.#readCallers(outcome, { stepMs: steps.stepMs, at, max }))
  }

  async labels(by: Dimension, steps: Steps): Promise<LabelStep[]> {
    return inGroups(stepStarts(steps), async (at) => {
      const found = await this.#client.hgetall(labelKey(steps.stepMs, at))
      const labels = Object.entries(found).map(([text, count]) => ({ ...parseLabel(text), count: Number(count) }))
      const wanted = labels.filter((label) => label.by === by)
      return wanted.length === 0 ? undefined : { at, labels: wanted }
    })
  }

  async rejections(): Promise<Rejection[]> {
    const found = await this.#client.lrange(`${prefix}:rejections`, 0, maxRejections - 1)
    return found.map((text) => JSON.parse(text) as Rejection)
  }

  async #addCallers(outcome: Outcome, { at, resolution }: Place, { entries, missed }: CallerSketch): Promise<void> {
    const { stepMs, keepMs } = resolution
    const { counts, times, missed: missedKey } = callerKeys(outcome, stepMs, stepAt(at, stepMs))
    for (let from = 0; from < entries.length; from += entriesPerScript) {
      const some = entries.slice(from, from + entriesPerScript).flatMap(({ key, count, at }) => [key, count, at])
      const known = [outcome, maxCallersPerStep, keepMs, from === 0 ? missed : 0]
      await this.#client.eval(scripts.callers, 3, counts, times, missedKey, ...known, ...some)
    }
  }

  async #addLabels({ at, resolution: { stepMs, keepMs } }: Place, labels: readonly LabelCount[]): Promise<void> {
    const key = labelKey(stepMs, stepAt(at, stepMs))
    for (let from = 0; from < labels.length; from += entriesPerScript) {
      const some = labels.slice(from, from + entriesPerScript).flatMap((label) => [labelText(label), label.count])
      await this.#client.eval(scripts.labels, 1, key, keepMs, ...some)
    }
  }

  async #addRejections(rejections: readonly Rejection[]): Promise<void> {
    const newest = rejections.slice(-maxRejections)
    for (let from = 0; from < newest.length; from += entriesPerScript) {
      const some = newest.slice(from, from + entriesPerScript).map((rejection) => JSON.stringify(rejection))
      await this.#client.eval(scripts.rejections, 1, `${prefix}:rejections`, this.maxAgeMs, maxRejections, ...some)
    }
  }

  async #readCallers(outcome: Outcome, { stepMs, at, max }: ReadStep): Promise<CallerStep | undefined> {
    const { counts, times, missed } = callerKeys(outcome, stepMs, at)
    const found = await this.#client.zrevrange(counts, 0, max - 1, 'WITHSCORES')
    if (found.length === 0) return undefined
    const ranked = Array.from({ length: found.length / 2 }, (_, nth) => ({
      key: found[2 * nth] ?? '',
      count: Number(found[2 * nth + 1]),
    }))
    const keys = ranked.map(({ key }) => key)
    const [lastAt, lost] = await Promise.all([this.#client.zmscore(times, ...keys), this.#client.hget(missed, outcome)])
    // Callers beyond the maximum have at most the count of the last one that was read.
    const unread = ranked.length === max && max < maxCallersPerStep ? (ranked.at(-1)?.count ?? 0) : 0
    return {
      at,
      callers: ranked.map(({ key, count }, nth) => ({ ...parseCallerKey(key), count, at: Number(lastAt[nth] ?? at) })),
      missed: Number(lost ?? 0) + unread,
    }
  }
}

interface Place {
  readonly at: number
  readonly resolution: Resolution
}

interface ReadStep {
  readonly stepMs: number
  readonly at: number
  readonly max: number
}

const labelKey = (stepMs: number, at: number) => `${prefix}:labels:${stepMs}:${at}`

function callerKeys(outcome: Outcome, stepMs: number, at: number) {
  const step = `${prefix}:callers:${stepMs}:${at}`
  return { counts: `${step}:${outcome}`, times: `${step}:at`, missed: `${step}:missed` }
}

async function inGroups<Step>(
  starts: readonly number[],
  read: (at: number) => Promise<Step | undefined>,
): Promise<Step[]> {
  const steps: Step[] = []
  for (let from = 0; from < starts.length; from += stepsPerRead) {
    const some = await Promise.all(starts.slice(from, from + stepsPerRead).map(read))
    steps.push(...some.filter((step) => step !== undefined))
  }
  return steps
}
