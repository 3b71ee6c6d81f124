import type { PrometheusSource } from '@gatehouse/kit'

/** What is kept as history, with the labels of each, which are closed sets: none tells of a person. */
export const measures = {
  outcomes: ['channel', 'outcome'],
  outcomes_by_event: ['event', 'outcome'],
  attempts: ['channel', 'provider', 'result'],
  states: ['channel', 'provider', 'state'],
  states_by_domain: ['provider', 'domain', 'state'],
  latency: ['channel', 'provider', 'le'],
  webhooks: ['provider', 'outcome'],
  misconfigured: ['provider'],
  texts: ['template', 'channel', 'result'],
  suppressions: ['channel', 'reason'],
  sms_failures: ['provider', 'code'],
  dead_devices: ['provider'],
} as const

/** The name of a measure. */
export type Measure = keyof typeof measures

/** Those with many labels, which are kept by the hour alone. */
export const hourlyMeasures: ReadonlySet<Measure> = new Set(['outcomes_by_event', 'states_by_domain', 'texts'])

/** The upper bounds of the durations of provider calls that are told apart, in seconds. */
export const latencyBounds = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30] as const

/**
 * The mail domains that are counted by name: those of the large mailbox providers. A domain of its own may name a person, and
 * there is no end of them.
 */
const domains: ReadonlySet<string> = new Set([
  'gmail.com',
  'outlook.com',
  'hotmail.com',
  'live.com',
  'msn.com',
  'yahoo.com',
  'yahoo.co.uk',
  'yahoo.co.jp',
  'aol.com',
  'icloud.com',
  'me.com',
  'mac.com',
  'proton.me',
  'protonmail.com',
  'gmx.de',
  'gmx.net',
  'gmx.at',
  'gmx.ch',
  'web.de',
  't-online.de',
  'freenet.de',
  'orange.fr',
  'free.fr',
  'laposte.net',
  'sfr.fr',
  'wanadoo.fr',
  'libero.it',
  'virgilio.it',
  'tiscali.it',
  'telenet.be',
  'ziggo.nl',
  'wp.pl',
  'o2.pl',
  'onet.pl',
  'seznam.cz',
  'mail.ru',
  'yandex.ru',
  'comcast.net',
  'verizon.net',
  'att.net',
  'btinternet.com',
  'sky.com',
  'qq.com',
  '163.com',
  '126.com',
  'naver.com',
  'rediffmail.com',
  'uol.com.br',
  'bigpond.com',
  'fastmail.com',
])
const otherNames: Readonly<Record<string, string>> = { 'googlemail.com': 'gmail.com' }

/** The domain of an address as it is counted; `other` for all that are not of a large provider. */
export function countedDomain(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  const name = otherNames[domain] ?? domain
  return domains.has(name) ? name : 'other'
}

/** Where Prometheus has them, from the metrics of the service. */
export const prometheusSources: Readonly<Partial<Record<Measure, PrometheusSource>>> = {
  outcomes: { metric: 'notify_outcomes_total', labels: measures.outcomes },
  attempts: { metric: 'notify_attempts_total', labels: measures.attempts },
  latency: { metric: 'notify_provider_seconds_bucket', labels: measures.latency },
  misconfigured: { metric: 'notify_provider_misconfigured_total', labels: measures.misconfigured },
  webhooks: { metric: 'notify_webhooks_total', labels: measures.webhooks },
}
