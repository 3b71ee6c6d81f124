import { type Clock, Problem } from '@gatehouse/kit'
import type { Report } from '@gatehouse/providers'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Reports } from '../context/reports.ts'
import type { ReceiptTokens } from '../links/receipt-token.ts'
import { createdAtOf } from '../model/id.ts'
import { createReceiptLimit } from './receipt-limit.ts'
import type * as schemas from './schema.ts'

/** The largest body of receipts, in bytes. */
export const maxReceiptBytes = 64 * 1024

/** What the endpoint of receipts needs. */
export interface ReceiptContext {
  readonly tokens: ReceiptTokens
  readonly reports: Reports
  readonly metrics: NotifyMetrics
  readonly clock: Clock
}

type Receipt = Static<typeof schemas.Receipt>
type Result = Static<typeof schemas.Result>

/**
 * POST /v1/receipts: what an app reports of the messages it received. The token of each receipt is the credential. The
 * response is the same whether the delivery is still known or not, and whether the receipt is new or not.
 */
export function recordReceipts({ tokens, reports, metrics, clock }: ReceiptContext) {
  const limit = createReceiptLimit(clock)
  const check = (receipt: Receipt): Report | Result['reason'] => {
    const now = clock.now()
    const token = tokens.read(receipt.token, now)
    if (token.kind !== 'valid') return token.kind
    return limit.take(token.deliveryId) ? reportOf(receipt, token.deliveryId, now) : 'limited'
  }
  return async (request: FastifyRequest<{ Body: Static<typeof schemas.ReceiptList> }>) => {
    const { receipts } = request.body
    refuseLinks(receipts)
    const checked = receipts.map(check)
    const accepted = checked.filter((each) => typeof each === 'object')
    if (accepted.length > 0) await reports.record('receipts', accepted)
    const results = checked.map((each): Result => {
      return typeof each === 'object' ? { status: 'accepted' } : { status: 'rejected', ...(each && { reason: each }) }
    })
    for (const { reason = 'accepted' } of results) metrics.receipts.inc({ result: reason })
    return { results }
  }
}

/** An app's clock may be wrong, and its receipts late: a time is kept between the making of the message and now. */
function reportOf({ report, link, at }: Receipt, deliveryId: string, now: number): Report {
  const reported = at === undefined ? now : Date.parse(at)
  return {
    eventId: `${report}:${deliveryId}`,
    deliveryId,
    report: report as Report['report'],
    at: Math.max(createdAtOf(deliveryId), Math.min(reported, now)),
    byRecipient: true,
    ...(link === undefined ? {} : { link }),
  }
}

/** @throws Problem 422 for a link beside anything but a click */
function refuseLinks(receipts: readonly Receipt[]): void {
  const errors = receipts.flatMap(({ report, link }, index) =>
    link === undefined || report === 'clicked'
      ? []
      : [{ pointer: `/receipts/${index}/link`, detail: `is for clicked, and this receipt says ${report}` }],
  )
  if (errors.length > 0) throw new Problem(422, 'A link is for receipts of clicks alone.', { errors })
}
