import { htmlAnswer, redirectAnswer } from '@gatehouse/kit'
import { Type } from 'typebox'
import { describeOperation } from '../request/route-options.ts'

const maxReceipts = 100

/** What an app reports of one message. */
export const Receipt = Type.Object(
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

/** The result of one receipt. */
export const Result = Type.Object(
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

/** The body of POST /v1/receipts. */
export const ReceiptList = Type.Object(
  { receipts: Type.Array(Receipt, { minItems: 1, maxItems: maxReceipts }) },
  { additionalProperties: false },
)

const Token = Type.Object({ token: Type.String({ maxLength: 1_024, description: 'The signed part of the link.' }) })
const image = { description: 'An image of one pixel.', content: { 'image/gif': { schema: Type.String() } } }

/** GET /t/o/{token} */
export const recordOpen = describeOperation('opens.record', { params: Token, response: { 200: image } as object })

/** GET /t/c/{token} */
export const followLink = describeOperation('clicks.record', {
  params: Token,
  response: {
    302: redirectAnswer('The link of the mail.'),
    404: htmlAnswer('A page that says that this link does not exist.'),
  } as object,
})

/** GET /l/{id} */
export const followShortLink = describeOperation('shortLinks.follow', {
  params: Type.Object({ id: Type.String({ maxLength: 1_024, description: 'The id of the link.' }) }),
  response: {
    302: redirectAnswer('The link of the message.'),
    404: htmlAnswer('A page that says that this link does not exist or has expired.'),
  } as object,
})

/** POST /v1/receipts */
export const recordReceipts = describeOperation('receipts.record', {
  body: ReceiptList,
  response: { 200: Type.Object({ results: Type.Array(Result) }) },
})
