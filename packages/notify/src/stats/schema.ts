import { StatSeriesSchema, statRangeMembers } from '@gatehouse/kit'
import { Type } from 'typebox'
import { describeOperation } from '../request/route-options.ts'

/** The query of GET /v1/stats. */
export const StatsQuery = Type.Object(
  {
    measure: Type.Enum(
      ['outcomes', 'states', 'attempts', 'latency', 'texts', 'suppressions', 'sms_failures', 'dead_devices'],
      {
        description:
          'outcomes: what was decided of the channels of accepted events; attempts: what came of attempts to send; states: what providers and links reported; latency: quantiles of the duration of provider calls, in seconds; texts: rendered texts, `incomplete` where the event lacked a variable; suppressions: new ones; sms_failures: SMS that a provider rejected or reported as failed, by its error code; dead_devices: push devices that a provider no longer knows, each once.',
      },
    ),
    by: Type.Optional(
      Type.Enum(['channel', 'event', 'provider', 'domain', 'template', 'reason', 'code'], {
        description:
          'What splits the sums, beside outcome, result, state or quantile; channel without it. Outcomes are by channel or event, states also by provider or receiving domain (of the large mailbox providers; all others are `other`), attempts and latency by channel or provider, texts by channel or template, suppressions by channel or reason, failures of SMS by provider or code (of known ones; `other` else, and `none` where the provider says none), dead devices by provider. Events, domains and texts are kept by the hour.',
      }),
    ),
    ...statRangeMembers,
  },
  { additionalProperties: false },
)

/** GET /v1/stats */
export const getStats = describeOperation('stats.get', { querystring: StatsQuery, response: { 200: StatSeriesSchema } })
