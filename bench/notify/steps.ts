import { setTimeout as pause } from 'node:timers/promises'
import type { Provider } from '@gatehouse/notify'
import { startPostgres } from '@gatehouse/testing'
import { cpuOf } from './cpu.ts'
import { eventOf } from './event.ts'
import { httpProvider } from './http-provider.ts'
import { service } from './service.ts'

const [events, batch, users] = [6_000, 500, 10_000]

/** Processor time of one step for one notification, in microseconds. */
export interface StepCost {
  readonly step: string
  readonly processUs: number
  readonly serversUs: number
}

/** The steps of a notification one after the other, none beside another: accepted, delivered, delivered over HTTP. */
export async function costOfSteps(url: string, settings: readonly string[]): Promise<StepCost[]> {
  const postgres = await startPostgres({ settings })
  const cost = async (step: string, work: () => Promise<void>): Promise<StepCost> => {
    const before = { own: process.cpuUsage(), servers: cpuOf(postgres.process.pid) }
    await work()
    const own = process.cpuUsage(before.own)
    const servers = cpuOf(postgres.process.pid) - before.servers
    const each = (us: number) => Math.round(us / events)
    return { step, processUs: each(own.user + own.system), serversUs: each(servers * 1_000) }
  }
  const accept = async (run: string) => {
    const taking = await service({ url: postgres.url, users, providers: {}, work: false })
    const accepted = await cost('accept: preferences, text, cap, dedup', async () => {
      for (let n = 0; n < events; n += batch)
        await taking.accept(Array.from({ length: batch }, (_, i) => eventOf(run, n + i, users)))
    })
    await taking.stop()
    return accepted
  }
  const deliver = async (step: string, provider: Provider) => {
    const counted = counting(provider)
    return cost(step, async () => {
      const working = await service({ url: postgres.url, users, providers: { email: [counted.provider] }, work: true })
      while (counted.count() < events) await pause(5)
      await working.stop()
    })
  }
  try {
    await accept('warm')
    await deliver('warm', instant)
    const accepted = await accept('first')
    const stored = await deliver('deliver: claim, state, timeline', instant)
    await accept('second')
    const called = await deliver('deliver with the HTTP call', httpProvider(url))
    return [accepted, stored, called]
  } finally {
    await postgres.stop()
  }
}

const instant: Provider = {
  name: 'instant',
  channel: 'email',
  timeoutMs: 10_000,
  send: async (messages) => messages.map(() => ({ kind: 'accepted' })),
}

function counting(provider: Provider) {
  let count = 0
  const counted: Provider = {
    ...provider,
    async send(messages, signal) {
      const results = await provider.send(messages, signal)
      count += results.length
      return results
    },
  }
  return { provider: counted, count: () => count }
}
