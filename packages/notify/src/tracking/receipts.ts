import { type Clock, type Http, Problem } from '@gatehouse/kit'
import type { WebhookReport } from '@gatehouse/providers'
import { type Static, Type } from 'typebox'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Reports } from '../context/reports.ts'
import type { ReceiptTokens } from '../links/receipt-token.ts'
import { createdAtOf } from '../model/id.ts'
import { operation } from '../request/operations.ts'
import { createReceiptLimit } from './receipt-limit.ts'

const maxReceipts = 100
const maxBytes = 64 * 1024

const Receipt = Type.Object(
  {
    token: Type.String({
      minLength: 1,
      maxLength: 200,
      description: '`receipt_token` of the push or the in-app item.',
    }),
    report: Type.Enum(['delivered', 'opened', 'clicked'], { description: 'What became of the message.' }),
    link: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 500,
        description: 'With clicked: the link that was followed, or a name of the action that was taken.',
        examples: ['https://shop.example/orders/A-1'],
      }),
    ),
    at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'When it happened. Default: now. Never before the message was made.',
      }),
    ),
  },
  { title: 'Receipt', additionalProperties: false },
)
type Receipt = Static<typeof Receipt>

const Result = Type.Object(
  {
    status: Type.Enum(['accepted', 'rejected']),
    reason: Type.Optional(
      Type.Enum(['invalid', 'expired', 'limited'], {
        description: 'invalid: not a token of this service; expired; limited: too many for this message in a minute.',
      }),
    ),
  },
  { title: 'ReceiptResult' },
)
type Result = Static<typeof Result>

export interface ReceiptRoutes {
  readonly tokens: ReceiptTokens
  readonly reports: Reports
  readonly metrics: NotifyMetrics
  readonly clock: Clock
}

/**
 * POST /v1/receipts: what an app reports of the messages it received. The token of each receipt is the credential. The
 * response is the same whether the delivery is still known or not, and whether the receipt is new or not.
 */
export function receiptEndpoint(http: Http, { tokens, reports, metrics, clock }: ReceiptRoutes): void {
  const limit = createReceiptLimit(clock)
  const check = (receipt: Receipt): WebhookReport | Result['reason'] => {
    const now = clock.now()
    const token = tokens.read(receipt.token, now)
    if (token.kind !== 'valid') return token.kind
    return limit.take(token.deliveryId) ? reportOf(receipt, token.deliveryId, now) : 'limited'
  }
  http.post(
    '/v1/receipts',
    {
      bodyLimit: maxBytes,
      schema: {
        tags: ['tracking'],
        ...operation('receipts.record'),
        security: [],
        body: Type.Object(
          { receipts: Type.Array(Receipt, { minItems: 1, maxItems: maxReceipts }) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ results: Type.Array(Result) }) },
      },
    },
    async (request) => {
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
    },
  )
}

/** An app's clock may be wrong, and its receipts late: a time is kept between the making of the message and now. */
function reportOf({ report, link, at }: Receipt, deliveryId: string, now: number): WebhookReport {
  const reported = at === undefined ? now : Date.parse(at)
  return {
    eventId: `${report}:${deliveryId}`,
    deliveryId,
    report: report as WebhookReport['report'],
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
