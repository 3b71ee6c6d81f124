import type { PrometheusSource } from '@gatehouse/kit'

/** What is kept as history, with the labels of each, which are closed sets: none tells of a person. */
export const measures = {
  sign_ins: ['method', 'outcome'],
  tokens: ['grant_type'],
  token_errors: ['error'],
} as const

/** The name of a measure. */
export type Measure = keyof typeof measures

/** Where Prometheus has them, from the metrics of the service. */
export const prometheusSources: Readonly<Record<Measure, PrometheusSource>> = {
  sign_ins: { metric: 'identity_logins_total', labels: measures.sign_ins },
  tokens: { metric: 'identity_tokens_issued_total', labels: measures.tokens },
  token_errors: { metric: 'identity_token_errors_total', labels: measures.token_errors },
}
