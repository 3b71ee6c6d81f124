import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSmtp } from '@gatehouse/fakes'
import fc from 'fast-check'
import { isAddressInvalid, parseEnhancedCode } from '../../src/mail/enhanced-code.ts'
import { parseReturnedMail } from '../../src/smtp/bounce-mail.ts'
import { createReturnPaths } from '../../src/smtp/return-path.ts'
import { rehearse, type TestEnd } from '../support/setup.ts'

const secret = 'a-secret-of-the-bounces'
const bounces = { domain: 'bounces.example.com', secret }

const setup = (t: TestEnd) =>
  rehearse(t, startSmtp({ bounceSecret: secret }), ({ url }) => ({ provider: 'smtp', url, bounces }))

test('bounces without the secret are rejected; anything but mail is malformed', async (t) => {
  const { receive } = await setup(t)
  const body = Buffer.from('Subject: hi\r\n\r\nhello')
  const request = (headers: Record<string, string>) => ({ headers, body, url: 'https://x/v1/webhooks/smtp' })
  const type = { 'content-type': 'message/rfc822' }
  for (const authorization of ['', 'Bearer wrong', `Basic ${secret}`, secret])
    assert.equal((await receive(request({ ...type, authorization }))).kind, 'rejected')
  const authorization = `Bearer ${secret}`
  assert.equal((await receive(request({ 'content-type': 'text/plain', authorization }))).kind, 'malformed')
  const expected = { kind: 'reports', reports: [], unreadableReason: 'its format is unknown' }
  assert.deepEqual(await receive(request({ ...type, authorization })), expected)
})

const id = '01a1fc2f-f883-7605-8c84-abdd08620000'
const paths = createReturnPaths(bounces.domain, secret)

/** A notice as Postfix, Exim or a provider of mailboxes writes it. */
function notice(options: { to?: string; type?: string; status?: string; original?: string; encoding?: string } = {}) {
  const { to = 'postmaster@example.com', type = 'delivery-status', encoding } = options
  const { status = 'Final-Recipient: rfc822; a@example.com\nAction: failed\nStatus: 5.1.1', original = '' } = options
  const body = `Reporting-MTA: dns; mx.example.com\nArrival-Date: Mon, 1 Jun 2026 00:00:00 +0000\n\n${status}\n`
  const written = encoding === 'base64' ? Buffer.from(body).toString('base64') : body
  return Buffer.from(
    [
      `To: ${to}`,
      'Auto-Submitted: auto-replied',
      `Content-Type: multipart/report; report-type=${type};\n\tboundary="=_b/1"`,
      '',
      'This is a MIME message.',
      '--=_b/1',
      'Content-Description: Notification',
      '',
      'I am sorry.',
      '--=_b/1',
      `Content-Type: message/${type}`,
      ...(encoding ? [`Content-Transfer-Encoding: ${encoding}`] : []),
      '',
      written,
      '--=_b/1',
      'Content-Type: message/rfc822',
      '',
      original,
      '--=_b/1--',
    ].join('\r\n'),
  )
}

test('the reason of a bounce decides whether the address is invalid', async (t) => {
  const { receive } = await setup(t)
  const table = [
    ['Action: failed\nStatus: 5.1.1', [['bounced', false]]],
    ['Action: Failed\nStatus: 5.2.2 (full)', [['bounced', true]]],
    ['Action: failed\nStatus: 5.7.1', [['bounced', true]]],
    ['Action: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; 550 5.1.1 unknown', [['bounced', false]]],
    ['Action: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; 550 no such\n user', [['bounced', false]]],
    ['Action: failed\nStatus: 5.0.0', [['bounced', true]]],
    [
      'Action: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; 550-Verification failed for <bounce+1@example.com>\n' +
        ' 550-No Such User Here\n 550 Sender verify failed',
      [['bounced', true]],
    ],
    ['Action: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp; 550 sender domain does not exist', [['bounced', true]]],
    ['Action: failed\nStatus: 4.4.1\nDiagnostic-Code: timed out', [['bounced', true]]],
    ['Action: delayed\nStatus: 4.4.1', []],
    ['Action: relayed\nStatus: 2.0.0', []],
    ['Action: delivered\nStatus: 2.0.0', [['delivered', undefined]]],
  ] as const
  for (const [status, expected] of table)
    for (const encoding of ['7bit', 'base64']) {
      const body = notice({
        to: `<${paths.create(id)}>`,
        status: `Final-Recipient: rfc822; a@example.com\n${status}`,
        encoding,
      })
      const headers = { 'content-type': 'message/rfc822', authorization: `Bearer ${secret}` }
      const received = await receive({ headers, body, url: 'https://x/v1/webhooks/smtp' })
      assert.ok(received.kind === 'reports')
      assert.deepEqual(
        received.reports.map(({ report, soft }) => [report, soft]),
        expected,
        `${status} ${encoding}`,
      )
    }
})

test('a notification refers to its delivery by return path, recipient or Message-ID only', async (t) => {
  const { receive } = await setup(t)
  const forged = paths.create(id).replace(/\.[0-9a-f]{20}@/, `.${'0'.repeat(20)}@`)
  const other = createReturnPaths(bounces.domain, 'another-secret-of-bounces').create(id)
  const table = [
    [notice({ to: paths.create(id) }), '', id],
    [notice({ to: paths.create(id).toUpperCase() }), '', id],
    [notice(), `?to=${encodeURIComponent(paths.create(id))}`, id],
    [notice({ original: `Return-Path: <${paths.create(id)}>\nSubject: x\n\nhello` }), '', id],
    [notice({ original: `Message-ID: <${id}@example.com>\n\nhello` }), '', id],
    [notice({ original: `Subject: x\nMessage-Id:\n <${id}@example.com>\n\nhello` }), '', id],
    [notice(), '', undefined],
    [notice({ to: forged }), '', undefined],
    [notice({ to: other }), '', undefined],
    [notice({ to: paths.create(id).replace('bounces.', 'elsewhere.') }), '', undefined],
    [notice({ original: 'Message-ID: <hello@example.com>\n\nhello' }), '', undefined],
  ] as const
  for (const [body, query, expected] of table) {
    const headers = { 'content-type': 'message/rfc822', authorization: `Bearer ${secret}` }
    const received = await receive({ headers, body, url: `https://x/v1/webhooks/smtp${query}` })
    assert.ok(received.kind === 'reports')
    assert.equal(received.reports[0]?.deliveryId, expected, body.toString())
  }
})

/** A bounce as the qmail-send program writes it. */
function qmailBounce(reason: string, to: string = paths.create(id), original: string = 'Subject: x\n\nhello') {
  return Buffer.from(
    [
      'From: MAILER-DAEMON@mx.example.com',
      `To: ${to}`,
      'Subject: failure notice',
      '',
      'Hi. This is the qmail-send program at mx.example.com.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      "This is a permanent error; I've given up. Sorry it didn't work out.",
      '',
      '<a@example.com>:',
      reason,
      '',
      '--- Below this line is a copy of the message.',
      '',
      original,
    ].join('\r\n'),
  )
}

test('qmail bounces are parsed too', async (t) => {
  const { receive } = await setup(t)
  const headers = { 'content-type': 'message/rfc822', authorization: `Bearer ${secret}` }
  const table = [
    [qmailBounce('Sorry, no mailbox here by that name. (#5.1.1)'), [[id, 'bounced', false]]],
    [qmailBounce('192.0.2.1 does not like recipient.\r\nRemote host said: 550 no such user'), [[id, 'bounced', false]]],
    [qmailBounce('Remote host said: 550 return path: user unknown'), [[id, 'bounced', true]]],
    [qmailBounce('The users mailfolder is over the allowed quota (size). (#5.2.2)'), [[id, 'bounced', true]]],
    [
      qmailBounce('(#5.1.1)', 'x@example.com', `Message-ID: <${id}@example.com>\r\n\r\nhello`),
      [[id, 'bounced', false]],
    ],
    [qmailBounce('(#5.1.1)', 'x@example.com'), []],
  ] as const
  for (const [body, expected] of table) {
    const received = await receive({ headers, body, url: 'https://x/v1/webhooks/smtp' })
    assert.ok(received.kind === 'reports')
    assert.deepEqual(
      received.reports.map(({ deliveryId, report, soft }) => [deliveryId, report, soft]),
      expected,
      body.toString(),
    )
    assert.equal(received.unreadableReason, expected.length > 0 ? undefined : 'it refers to no known mail')
  }
})

test('a mail that cannot be interpreted gives a reason, unless it is an automatic response', async (t) => {
  const { receive } = await setup(t)
  const headers = { 'content-type': 'message/rfc822', authorization: `Bearer ${secret}` }
  const unreadOf = async (raw: string) => {
    const received = await receive({ headers, body: Buffer.from(raw), url: 'https://x/v1/webhooks/smtp' })
    return received.kind === 'reports' && received.unreadableReason
  }
  assert.equal(await unreadOf('Subject: Mail could not be delivered\r\n\r\nSo it is.'), 'its format is unknown')
  assert.equal(await unreadOf('Auto-Submitted: no\r\n\r\nhello'), 'its format is unknown')
  assert.equal(await unreadOf(notice({ to: 'x@example.com' }).toString()), 'it refers to no known mail')
  assert.equal(await unreadOf('Auto-Submitted: auto-replied\r\n\r\nI am away.'), undefined)
  const delayed = 'Final-Recipient: rfc822; a@example.com\nAction: delayed\nStatus: 4.4.1'
  assert.equal(await unreadOf(notice({ to: paths.create(id), status: delayed }).toString()), undefined)
})

test('automatic responses, mail of people and broken notifications are of kind other', () => {
  const vacation = 'To: x@example.com\r\nAuto-Submitted: auto-replied\r\nContent-Type: text/plain\r\n\r\nI am away.'
  for (const raw of [
    vacation,
    'Subject: hi\n\nhello',
    '',
    '\r\n\r\n',
    'Content-Type: multipart/report\r\n\r\n--\r\n--',
  ])
    assert.equal(parseReturnedMail(Buffer.from(raw)).kind, 'other')
  const cut = notice()
  for (let length = 0; length < cut.length; length += 7) parseReturnedMail(cut.subarray(0, length))
})

test('complaints, reports of mail that is not spam, and opt-outs are distinguished', async (t) => {
  const { receive } = await setup(t)
  for (const [kind, expected] of [
    ['abuse', ['complained']],
    ['fraud', ['complained']],
    ['not-spam', []],
    ['opt-out', ['unsubscribed']],
  ] as const) {
    const raw = notice({ type: 'feedback-report', to: paths.create(id) }).toString()
    const body = Buffer.from(raw.replace('Reporting-MTA:', `Feedback-Type: ${kind}\nReporting-MTA:`))
    const headers = { 'content-type': 'message/rfc822', authorization: `Bearer ${secret}` }
    const received = await receive({ headers, body, url: 'https://x/v1/webhooks/smtp' })
    assert.deepEqual(received.kind === 'reports' && received.reports.map(({ report }) => report), expected, kind)
  }
})

test('parsing terminates without an error, whatever the mail', () => {
  const lines = fc.array(
    fc.constantFrom(
      '--b',
      '--b--',
      '',
      'Content-Type: multipart/report; boundary=b',
      'Content-Type: message/delivery-status',
      'Action: failed',
      'Status: 5.1.1',
      ' folded',
      ':',
      'Content-Transfer-Encoding: base64',
      'Message-ID: <x>',
      'Hi. This is the qmail-send program',
      '<a@example.com>:',
      '--- Below this line',
      '\u0000',
    ),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(lines, fc.uint8Array({ maxLength: 200 }), (text, bytes) => {
      parseReturnedMail(Buffer.concat([Buffer.from(text.join('\r\n')), bytes]))
    }),
    { numRuns: 500 },
  )
  for (const nasty of [
    '-'.repeat(500_000),
    `${'a:'.repeat(200_000)}`,
    `\n ${'\n '.repeat(200_000)}`,
    `${' \n'.repeat(200_000)}x`,
    `\n\nHi. This is the${'\n\n<a>:\n'.repeat(100_000)}`,
    `Content-Type: multipart/report; boundary=b\n\n${'--b\n'.repeat(100_000)}`,
  ])
    parseReturnedMail(Buffer.from(nasty))
})

test('only status codes of the address itself make it invalid', () => {
  assert.equal(parseEnhancedCode('550-5.1.1 The email account'), '5.1.1')
  assert.equal(parseEnhancedCode('550 see https://1.2.3.4/5.1.1'), undefined)
  assert.equal(isAddressInvalid('5.1.8', 'no such user'), false, 'the sender’s address is at fault')
  assert.equal(isAddressInvalid('4.1.1', ''), false)
  assert.equal(isAddressInvalid(undefined, 'mailbox unavailable'), false)
})
