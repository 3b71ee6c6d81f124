import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NotificationExplanation, Standing } from '@gatehouse/client'
import { resultRules } from '../../../../../packages/notify/src/model/delivery/retry-policy.ts'
import { reasonCodes } from '../../../../../packages/notify/src/model/notification/reason.ts'
import { type CheckInput, checkNames, checksOf } from '../../../src/browser/screens/deliver/why/checks.ts'
import { customerAnswer } from '../../../src/browser/screens/deliver/why/customer-answer.ts'
import { de } from '../../../src/browser/texts/de.ts'
import { en } from '../../../src/browser/texts/en.ts'

type Explained = NotificationExplanation['channels'][number]

const standing = {
  caps: [
    { cap: 'total', limit: 10, used: 3 },
    { cap: 'channel:email', limit: 5, used: 5 },
    { cap: 'channel:sms', limit: 1, used: 1 },
  ],
} as unknown as Standing

const input = (explained: Partial<Explained> | undefined, rest: Partial<CheckInput> = {}): CheckInput => ({
  channel: 'email',
  explanation: {
    channels: explained ? [{ channel: 'email', outcome: 'undeliverable', ...explained }] : [],
    decisions: [
      { at: '2026-01-01T00:00:00Z', what: 'channels', detail: { channels: ['email'], because: 'preference' } },
    ],
    cap: {},
  },
  eventType: { event: 'order.shipped', channels: ['email'] } as never,
  hasKey: false,
  standing,
  providers: [{ name: 'smtp', channel: 'email', state: 'closed' }],
  lastState: undefined,
  ...rest,
})
const verdicts = (request: CheckInput) =>
  Object.fromEntries(checksOf(request).map(({ name, verdict }) => [name, verdict]))
const checkOf = (request: CheckInput, wanted: string) =>
  checksOf(request).find(({ name }) => name === wanted) ?? assert.fail()

describe('the checks of Why?', () => {
  test('what would be sent passes every check up to its provider', () => {
    const checks = checksOf(input({ outcome: 'queued' }))
    assert.deepEqual(
      checks.map(({ name }) => name),
      [...checkNames],
    )
    assert.deepEqual(
      checks.map(({ verdict }) => verdict),
      [...checkNames.slice(0, -1).map(() => 'passed'), 'skipped'],
    )
  })

  test('a user without consent stops at the channels, and nothing after is reached', () => {
    const request = input(undefined)
    const check = checkOf(request, 'channels')
    assert.deepEqual([check.verdict, check.author, check.facts], ['stopped', 'preference', [{ fact: 'leftOut' }]])
    const { event, channels, ...later } = verdicts(request)
    assert.deepEqual([event, channels, new Set(Object.values(later))], ['passed', 'stopped', new Set(['skipped'])])
  })

  for (const [code, stops, notReached, passed] of [
    ['address_suppressed', 'suppression', ['template', 'cap', 'provider'], ['address', 'quiet', 'duplicate']],
    ['no_email_address', 'address', ['suppression', 'template', 'cap'], ['quiet', 'duplicate']],
    ['template_failed', 'template', ['cap', 'provider'], ['address', 'suppression']],
    ['cap_reached', 'cap', ['provider', 'report'], ['template', 'address', 'duplicate']],
    ['dedup_key_used', 'duplicate', ['quiet', 'address', 'cap'], ['channels']],
    ['channel_off', 'channels', ['duplicate', 'address'], ['event']],
  ] as const)
    test(`${code} stops at ${stops}; what is looked at later is not reached`, () => {
      const found = verdicts(input({ reason_code: code }))
      assert.equal(found[stops], 'stopped')
      for (const name of notReached) assert.equal(found[name], 'skipped', name)
      for (const name of passed) assert.equal(found[name], 'passed', name)
    })

  for (const [outcome, code, waits] of [
    ['deferred', 'quiet_hours', 'quiet'],
    ['aggregated', 'aggregated', 'aggregation'],
  ] as const)
    test(`what is ${outcome} waits at ${waits}, until a time`, () => {
      const until = '2026-01-02T07:00:00Z'
      const check = checkOf(input({ outcome, reason_code: code, until }), waits)
      assert.deepEqual([check.verdict, check.until], ['waits', until])
    })

  test('what is gathered says with how many, and how it would be sent', () => {
    const gathered = {
      ...{ is_open: true, flush_at: '2026-01-02T07:00:00Z', items: 4, actors: 2, threshold: 3 },
      sent_as: 'combined',
    } as const
    const request = input({ outcome: 'aggregated', reason_code: 'aggregated' })
    const { facts } = checkOf({ ...request, explanation: { ...request.explanation, gathered } }, 'aggregation')
    assert.deepEqual(facts.slice(1), [{ fact: 'gathered', items: 4, actors: 2, threshold: 3 }, { fact: 'combined' }])
    for (const texts of [en, de])
      assert.match(texts.why.facts.gathered(gathered), /4 \S+ \w+ 2 \S+ mehr als 3|4 events of 2 actors; more than 3/)
  })

  test('the caps that count for the channel are listed, those of others are not', () => {
    const { facts } = checkOf(input({ outcome: 'queued' }), 'cap')
    assert.deepEqual(
      facts.map((fact) => fact.fact === 'cap' && fact.cap),
      ['total', 'channel:email'],
    )
  })

  test('where every provider of the channel is open or paused it waits for one', () => {
    const providers = [
      { name: 'smtp', channel: 'email', state: 'open' },
      { name: 'fcm', channel: 'push', state: 'closed' },
    ]
    assert.equal(checkOf(input({ outcome: 'queued' }, { providers }), 'provider').verdict, 'waits')
  })

  test('every reason of the service, and result of a provider, has words in both languages', () => {
    for (const { codes } of [en, de]) {
      for (const code of reasonCodes) assert.ok(Object.hasOwn(codes.reasons, code), code)
      for (const kind of Object.keys(resultRules)) assert.ok(Object.hasOwn(codes.providerResults, kind), kind)
    }
  })

  test('the answer for a customer names no address and quotes nobody', () => {
    const quoted = 'the template said <zelda@example.com>'
    const answer = customerAnswer(en, {
      event: 'order.shipped',
      channels: [
        [
          'email',
          { channel: 'email', outcome: 'failed', reason_code: 'template_failed', reason: quoted, body: quoted },
        ],
        ['sms', undefined],
        ['push', { channel: 'push', outcome: 'deferred', reason_code: 'quiet_hours', until: 'x' }],
        ['in-app', { channel: 'in-app', outcome: 'queued', subject: quoted }],
      ],
      formatTime: () => '07:00',
    })
    assert.ok(!answer.includes('zelda'))
    assert.deepEqual(answer.split('\n'), [
      'About “order.shipped”:',
      'Email: it is not sent. The reason is on our side, and we look into it.',
      'SMS: it is not sent. Your settings leave this channel out; you can change them at any time.',
      'Push: It is within your quiet hours. It follows at 07:00.',
      'In-app: it would be sent now.',
    ])
  })
})
