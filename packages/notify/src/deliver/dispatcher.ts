import type { Clock } from '@gatehouse/kit'
import type { OutgoingMessage, Provider, SendResult } from '@gatehouse/providers'
import type { CompleteMessages } from '../links/complete-messages.ts'
import type { Call, PendingAttempt } from './attempt.ts'
import { createCallMarks } from './calls/call-marks.ts'
import { callProvider, createOutgoing } from './calls/call-provider.ts'
import { createClaimCheck } from './calls/claim-check.ts'
import { canSend } from './calls/send-conditions.ts'
import { linksUnavailable } from './calls/skipped-targets.ts'
import type { CompleterOptions } from './completer.ts'
import { noProvider } from './next-step.ts'
import { unresolvedProvider } from './provider-history.ts'
import type { ProviderPool } from './provider-pool.ts'

export interface SenderOptions
  extends Pick<CompleterOptions, 'channel' | 'deliveries' | 'options' | 'log' | 'metrics'> {
  readonly clock: Clock
  /** Gives messages what they carry beside their text, just before they go out. */
  readonly completeMessages?: CompleteMessages
}

/** Calls providers, and hands each try on as soon as all of its targets are answered. */
export interface Sender {
  /** When calls of a provider must begin, so that what comes of them is stored under the lease; by `performance.now()`. */
  beginBy(provider: Provider, leaseEndsAt: number): number
  /**
   * Makes calls of one provider together; those that expired by now, whose user's quiet hours began, or whose user was
   * erased, are left. `claimedAt` is from before their deliveries were claimed.
   */
  send(provider: Provider, calls: readonly Call[], claimedAt: number): Promise<void>
  /** For calls that are not made. */
  leave(provider: Provider, calls: readonly Call[]): void
}

/** The share of a lease that is kept for storing what came of the call. */
const recordingShare = 0.25

/** A sender that has what providers answer counted. */
export function createSender(
  settings: SenderOptions,
  pool: ProviderPool,
  finish: (ended: PendingAttempt) => void,
): Sender {
  const { options, metrics, clock } = settings
  const answer = (provider: Provider, { of, target }: Call, result: SendResult | undefined) => {
    for (const ended of of.answered(target, provider.name, result)) finish(ended)
  }
  const claimCheck = createClaimCheck(settings.deliveries)
  /** What can't be looked up is left alone: nothing is sent that may have been erased. */
  const heldAmong = async (calls: readonly Call[], claimedAt: number): Promise<readonly boolean[]> => {
    try {
      return await claimCheck.check(
        calls.map(({ of }) => of.claimed),
        claimedAt,
      )
    } catch (error) {
      settings.log.warn(
        { err: error, channel: settings.channel },
        'claimed deliveries could not be looked up; they wait',
      )
      return calls.map(() => false)
    }
  }
  const callMarks = createCallMarks(settings.deliveries)
  const needsMark = ({ of: { claimed }, target }: Call) =>
    claimed.message.failoverOnTimeout === false &&
    unresolvedProvider(claimed.message, target) === undefined &&
    pool.availability(target, {}).length > 1
  /** Of those that may go, the ones that still may once it is remembered who is called, where it must be. */
  const markedAmong = async (provider: Provider, calls: readonly Call[], may: readonly boolean[]) => {
    const needing = calls.filter((call, index) => may[index] && needsMark(call))
    if (needing.length === 0) return may
    try {
      const marks = needing.map(({ of, target }) => ({
        claimed: of.claimed,
        target: target.id,
        provider: provider.name,
      }))
      const marked = await callMarks.mark(marks)
      const left = new Set(needing.filter((_, index) => !marked[index]))
      const now = clock.now()
      return calls.map(
        (call, index) => may[index] === true && !left.has(call) && canSend(call.of.claimed, options, now),
      )
    } catch (error) {
      settings.log.warn({ err: error, channel: settings.channel }, 'calls could not be marked; their deliveries wait')
      return calls.map((call, index) => may[index] === true && !needing.includes(call))
    }
  }
  return {
    beginBy: ({ timeoutMs }, leaseEndsAt) => leaseEndsAt - timeoutMs - options.leaseMs * recordingShare,
    async send(provider, all, claimedAt) {
      const messages = await complete(settings, all)
      if (!messages) {
        for (const { of, target } of all)
          for (const ended of of.answered(target, noProvider, linksUnavailable)) finish(ended)
        return
      }
      const held = await heldAmong(all, claimedAt)
      const now = clock.now()
      const may = all.map(({ of }, index) => held[index] === true && canSend(of.claimed, options, now))
      const goes = await markedAmong(provider, all, may)
      for (const [index, call] of all.entries()) if (!goes[index]) answer(provider, call, undefined)
      const going = all.filter((_, index) => goes[index])
      if (going.length === 0) return
      const begun = performance.now()
      const results = await callProvider(
        provider,
        messages.filter((_, index) => goes[index]),
      )
      metrics.providerSeconds.observe({ provider: provider.name }, (performance.now() - begun) / 1_000)
      for (const [index, call] of going.entries()) answer(provider, call, results[index])
      await count(settings, pool, provider, results)
    },
    leave(provider, calls) {
      for (const call of calls) answer(provider, call, undefined)
    },
  }
}

/** What goes out; undefined when it can't be completed at the moment. */
async function complete(
  { channel, log, completeMessages }: SenderOptions,
  calls: readonly Call[],
): Promise<readonly OutgoingMessage[] | undefined> {
  const bare = calls.map((call) => createOutgoing(call.of.claimed, call.target))
  try {
    return (await completeMessages?.(bare)) ?? bare
  } catch (error) {
    log.warn({ err: error, channel }, 'the settings that mails need for their links could not be read; they wait')
    return undefined
  }
}

/** Tells the breaker; that it opens for refused credentials or a closed account is an operator's matter. */
async function count(
  { channel, log, metrics }: SenderOptions,
  pool: ProviderPool,
  provider: Provider,
  answers: readonly SendResult[],
): Promise<void> {
  const refused = answers.filter(({ kind }) => kind === 'misconfigured')
  if (refused.length > 0) metrics.misconfigured.inc({ provider: provider.name }, refused.length)
  const opened = await pool.reportResults(provider, answers)
  const [first] = refused
  if (opened && first && 'reason' in first)
    log.error(
      { provider: provider.name, channel, reason: first.reason },
      'a provider refuses our credentials or account',
    )
}
