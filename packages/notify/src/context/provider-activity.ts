import type { Clock, Log } from '@gatehouse/kit'
import type { SendResult } from '@gatehouse/providers'
import { answerFingerprint, withoutIds } from '../model/delivery/answer-fingerprint.ts'
import { durationSlot } from '../model/durations.ts'
import { maskReason } from '../model/masking.ts'
import type { ActivityCounts, CallCount, ErrorCount, ProviderActivityStore, WebhookCount } from '../store/store.ts'

/** What the record of providers' activity needs. */
export interface ProviderActivityOptions {
  readonly store: ProviderActivityStore
  readonly clock: Clock
  readonly log: Log
}

/** What this process counts is stored so often, in milliseconds; a crash loses what was counted since. */
const storeEveryMs = 2_000
const minuteMs = 60_000
/** So many different answers of a provider are kept until the next time; of more only that there were calls. */
const maxErrorsAtOnce = 20
const maxRefusalLength = 200
/** So many counts are kept while they can't be stored, the latest: those of some hours. */
const maxKeptCalls = 10_000

/** What a rejection says is about its recipient, whose dead letter keeps it; of it only the code is kept here. */
function sampleOf(result: Extract<SendResult, { readonly reason: string }>): string {
  if (result.kind === 'permanent') return `${result.code} ${maskReason(result.reason)}`
  return result.kind === 'dead_token' ? maskReason(result.reason) : withoutIds(result.reason)
}

/** Counts the calls of providers and their webhooks, and stores the counts for all processes. */
export class ProviderActivity {
  readonly #settings: ProviderActivityOptions
  #calls = new Map<string, CallCount>()
  #errors = new Map<string, ErrorCount>()
  #webhooks = new Map<string, WebhookCount>()
  #timer: NodeJS.Timeout | undefined
  #storing: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(settings: ProviderActivityOptions) {
    this.#settings = settings
  }

  /** Counts the results of one call. */
  recordCall(provider: string, results: readonly SendResult[], durationMs: number): void {
    const at = this.#settings.clock.now()
    const about = { provider, minute: at - (at % minuteMs), slot: durationSlot(durationMs) }
    for (const result of results) {
      this.#addCalls({ ...about, result: result.kind, calls: 1 })
      if (!('reason' in result)) continue
      const sample = sampleOf(result)
      const fingerprint = answerFingerprint(result.kind, sample)
      this.#addErrors({ provider, fingerprint, result: result.kind, sample, count: 1, firstAt: at, lastAt: at })
    }
    this.#schedule()
  }

  /** Counts a webhook that its provider signed: accepted, or refused for a reason. */
  recordWebhook(provider: string, refusal?: string): void {
    const at = this.#settings.clock.now()
    const refused = { refused: 1, refusedAt: at, refusal: refusal?.slice(0, maxRefusalLength) ?? '' }
    const counted = refusal === undefined ? { refused: 0, acceptedAt: at } : refused
    this.#addWebhooks({ provider, unverified: 0, ...counted })
    this.#schedule()
  }

  /** Counts a webhook of which it is not known that its provider sent it. Those hide none that it did send. */
  recordUnverified(provider: string, reason: string): void {
    const unverifiedAt = this.#settings.clock.now()
    const unverifiedReason = reason.slice(0, maxRefusalLength)
    this.#addWebhooks({ provider, refused: 0, unverified: 1, unverifiedAt, unverifiedReason })
    this.#schedule()
  }

  /** Stores what was counted. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#storing
    await this.#store()
  }

  #schedule(): void {
    if (this.#timer || this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#storing = this.#store().finally(() => {
        this.#timer = undefined
        if (this.#calls.size + this.#webhooks.size > 0) this.#schedule()
      })
    }, storeEveryMs)
    this.#timer.unref()
  }

  async #store(): Promise<void> {
    const counts = this.#take()
    if (counts.calls.length + counts.webhooks.length === 0) return
    try {
      await this.#settings.store.add(counts)
    } catch (error) {
      this.#settings.log.warn({ err: error }, 'the calls of providers could not be counted and will be again')
      this.#putBack(counts)
    }
  }

  #take(): ActivityCounts {
    const counts = {
      calls: [...this.#calls.values()],
      errors: [...this.#errors.values()],
      webhooks: [...this.#webhooks.values()],
    }
    this.#calls = new Map()
    this.#errors = new Map()
    this.#webhooks = new Map()
    return counts
  }

  /** Counts again what could not be stored, before what came meanwhile: the latest is last, and is what is kept. */
  #putBack(failed: ActivityCounts): void {
    const since = this.#take()
    for (const each of [...failed.calls.slice(-maxKeptCalls), ...since.calls]) this.#addCalls(each)
    for (const each of [...failed.errors, ...since.errors]) this.#addErrors(each)
    for (const each of [...failed.webhooks, ...since.webhooks]) this.#addWebhooks(each)
  }

  #addCalls(count: CallCount): void {
    const key = `${count.provider} ${count.minute} ${count.result} ${count.slot}`
    this.#calls.set(key, { ...count, calls: count.calls + (this.#calls.get(key)?.calls ?? 0) })
  }

  #addErrors(error: ErrorCount): void {
    const { provider, fingerprint, firstAt, lastAt } = error
    const key = `${provider} ${fingerprint}`
    const known = this.#errors.get(key)
    const others = this.#errors.values().filter((each) => each.provider === provider)
    if (!known && others.toArray().length >= maxErrorsAtOnce) return
    const span = { firstAt: Math.min(firstAt, known?.firstAt ?? firstAt), lastAt: Math.max(lastAt, known?.lastAt ?? 0) }
    this.#errors.set(key, { ...error, ...span, count: error.count + (known?.count ?? 0) })
  }

  #addWebhooks(count: WebhookCount): void {
    const known = this.#webhooks.get(count.provider)
    const refused = count.refused + (known?.refused ?? 0)
    const unverified = count.unverified + (known?.unverified ?? 0)
    this.#webhooks.set(count.provider, { ...known, ...count, refused, unverified })
  }
}
