import type { MailLinks } from '../mail-links.ts'
import type { OutgoingMessage, Provider, SendResult } from '../providers/provider.ts'
import type { Carriers } from './carriers.ts'
import type { RecorderOptions } from './recorder.ts'
import { withoutLinks } from './refusal.ts'
import { callProvider, outgoing } from './send.ts'
import type { Call, Try } from './try.ts'

export interface SenderOptions extends Pick<RecorderOptions, 'channel' | 'options' | 'log' | 'metrics'> {
  /** Gives mails their links just before they go out. */
  readonly mailLinks?: MailLinks
}

/** Makes calls of one provider together, in the time that their lease leaves; its end is by `performance.now()`. */
export type Sender = (provider: Provider, calls: readonly Call[], leaseEndsAt: number) => Promise<void>

/** The share of a lease that is kept for storing what came of the call. */
const recordingShare = 0.25

/** A sender that hands each try on as soon as all of its targets are answered, and has the answers counted. */
export function createSender(settings: SenderOptions, carriers: Carriers, finish: (ended: Try) => void): Sender {
  const { options, metrics } = settings
  return async (provider, calls, leaseEndsAt) => {
    const inTime = performance.now() + provider.timeoutMs + options.leaseMs * recordingShare < leaseEndsAt
    const messages = inTime ? await complete(settings, calls) : undefined
    const begun = performance.now()
    const answers: readonly SendResult[] = messages ? await callProvider(provider, messages) : []
    if (messages) metrics.providerSeconds.observe({ provider: provider.name }, (performance.now() - begun) / 1_000)
    const unanswered = inTime && !messages ? withoutLinks : undefined
    for (const [index, call] of calls.entries())
      for (const ended of call.of.answered(call.target, provider.name, answers[index] ?? unanswered)) finish(ended)
    if (messages) await count(settings, carriers, provider, answers)
  }
}

/** What goes out; undefined when the links of mails can't be made at the moment. */
async function complete(
  { channel, log, mailLinks }: SenderOptions,
  calls: readonly Call[],
): Promise<readonly OutgoingMessage[] | undefined> {
  const bare = calls.map((call) => outgoing(call.of.claimed, call.target))
  try {
    return (await mailLinks?.(bare)) ?? bare
  } catch (error) {
    log.warn({ err: error, channel }, 'the settings that mails need for their links could not be read; they wait')
    return undefined
  }
}

/** Tells the breaker; that it opens for refused credentials or a closed account is an operator's matter. */
async function count(
  { channel, log, metrics }: SenderOptions,
  carriers: Carriers,
  provider: Provider,
  answers: readonly SendResult[],
): Promise<void> {
  const refused = answers.filter(({ kind }) => kind === 'misconfigured')
  if (refused.length > 0) metrics.misconfigured.inc({ provider: provider.name }, refused.length)
  const opened = await carriers.seen(provider, answers)
  const [first] = refused
  if (opened && first && 'reason' in first)
    log.error(
      { provider: provider.name, channel, reason: first.reason },
      'a provider refuses our credentials or account',
    )
}
