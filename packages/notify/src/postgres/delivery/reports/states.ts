import type { Transaction } from '@gatehouse/kit'
import type { Channel } from '../../../model/channel.ts'
import type { DeliveryState } from '../../../model/delivery/delivery-state.ts'
import { newIdBeside, notificationIdOf } from '../../../model/id.ts'
import type { ProviderReport } from '../../../store/store.ts'
import { type BucketScope, bucketsOfIds, nameFor, textFor } from '../../sql/buckets.ts'
import { columns, optionalTimestamp } from '../../sql/columns.ts'
import { keyOf } from '../../sql/plans.ts'
import type { NewTimelineEntry } from '../../timeline/timeline.ts'
import { reportKey } from './unseen-reports.ts'

/** A delivery that reports are about, before they are applied. */
export interface ReportedDelivery {
  readonly id: string
  readonly user_id: string
  readonly address: string | null
  readonly provider: string | null
  readonly state: DeliveryState
  readonly delivered_report: string | null
}

/** A report that was not there before, with the delivery it is about and the state it leads to, where it leads to one. */
export interface AppliedReport {
  readonly report: ProviderReport
  readonly delivery: ReportedDelivery
  readonly channel: Channel
  readonly state: DeliveryState | undefined
}

/**
 * Whether the delivery's own row can hold what its timeline tells of a report: that the provider that took it delivered it,
 * and no more. That it was sent comes before it, for a report that overtakes our record may be of another provider; so may
 * that of a push, which is taken by a provider for each of its targets.
 */
export function isInDelivery({ report, delivery, channel, state }: AppliedReport): boolean {
  const { provider, report: name, byRecipient, reason, soft, machine, link } = report
  return (
    [name, state, delivery.state].join() === 'delivered,delivered,sent' &&
    provider === delivery.provider &&
    channel !== 'push' &&
    [byRecipient, reason, soft, machine, link].every((detail) => detail === undefined)
  )
}

/** The timeline's entry of a report. */
export function entryOf({ report, delivery, channel, state }: AppliedReport): NewTimelineEntry {
  const { provider, reason, soft, machine, link } = report
  return {
    ...(report.byRecipient ? {} : { reportKey: reportKey(report) }),
    notificationId: notificationIdOf(delivery.id),
    deliveryId: delivery.id,
    channel,
    at: report.at,
    entryType: report.report,
    state,
    detail: { provider, reason, soft, machine, link },
  }
}

/** The last state of each delivery whose state changes. */
export function lastOfEach(changed: readonly AppliedReport[]): AppliedReport[] {
  return [...new Map(changed.map((each) => [each.delivery.id, each])).values()]
}

/** Stores the last state of each delivery, and the report that it was delivered where that stands in it. */
export async function raiseStates(
  tx: Transaction,
  scope: BucketScope,
  changed: readonly AppliedReport[],
): Promise<void> {
  if (changed.length === 0) return
  const last = lastOfEach(changed)
  const delivered = new Map(changed.filter(isInDelivery).map(({ delivery, report }) => [delivery.id, report]))
  const deliveredOf = ({ delivery }: AppliedReport) => delivered.get(delivery.id)
  await tx.query({
    name: nameFor(scope, 'notify_raise_states'),
    text: textFor(
      scope,
      `UPDATE notify.delivery d
          SET state = r.state, provider = coalesce(d.provider, r.provider), ended = NULL,
              delivered_at = coalesce(r.delivered_at, d.delivered_at),
              delivered_entry = coalesce(r.delivered_entry, d.delivered_entry),
              delivered_report = coalesce(r.delivered_report, d.delivered_report)
         FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[], $6::uuid[], $7::uuid[])
              AS r (bucket, id, state, provider, delivered_at, delivered_entry, delivered_report)
        WHERE ${keyOf('d', 'r')}`,
    ),
    values: [
      bucketsOfIds(scope, last, (f) => f.delivery.id),
      ...columns(
        last,
        (f) => f.delivery.id,
        (f) => f.state,
        (f) => (f.report.byRecipient ? null : f.report.provider),
        (f) => optionalTimestamp(deliveredOf(f)?.at),
        (f) => deliveredOf(f) && newIdBeside(f.delivery.id),
        (f) => {
          const report = deliveredOf(f)
          return report && reportKey(report)
        },
      ),
    ],
  })
}
