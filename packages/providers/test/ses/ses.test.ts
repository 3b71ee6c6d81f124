import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSes } from '@gatehouse/fakes'
import { signAwsRequest } from '../../src/ses/aws-signature.ts'
import { snsOriginOf } from '../../src/ses/sns.ts'
import { caught, message, rehearse, sendOne, type TestEnd } from '../support/setup.ts'

const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const region = 'eu-central-1'
const mail = (address = 'alice@example.com') =>
  message({
    channel: 'email',
    target: { id: 'email', address },
    content: { subject: 'Größe', body: 'It left. ✓', html: '<p>It left.</p>', locale: 'en' },
    headers: { 'List-Unsubscribe': '<https://example.com/u/1>' },
  })

const setup = (t: TestEnd, declared: Record<string, unknown> = {}) =>
  rehearse(
    t,
    startSes({ region, ...keys }),
    ({ topicArn, url }) => ({
      provider: 'ses',
      region,
      access_key_id: keys.accessKeyId,
      secret_access_key: keys.secretAccessKey,
      configuration_set: 'events',
      topic_arns: [topicArn],
      url,
      sns_url: url,
      ...declared,
    }),
    { from: 'Zoë <hello@example.com>' },
  )

const describe = (received: { kind: string; reason?: string }) => `${received.kind}: ${received.reason ?? ''}`

test('requests are signed as in the example that AWS published', () => {
  const headers = signAwsRequest(
    {
      method: 'GET',
      host: 'iam.amazonaws.com',
      path: '/',
      query: 'Action=ListUsers&Version=2010-05-08',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: '',
    },
    keys,
    { region: 'us-east-1', service: 'iam' },
    Date.parse('2015-08-30T12:36:00Z'),
  )
  assert.equal(
    headers.authorization,
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, ' +
      'Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  )
})

test('a mail to SES is signed, and has its sender, texts, header fields and delivery id', async (t) => {
  const { fake, provider } = await setup(t)
  const sent = mail()
  const result = await sendOne(provider, sent)
  assert.deepEqual(fake.refusals, [])
  const [{ id, ...received } = assert.fail()] = fake.requests
  assert.deepEqual(result, { kind: 'accepted', providerMessageId: id })
  assert.deepEqual(received, {
    to: 'alice@example.com',
    from: '=?UTF-8?B?Wm/Dqw==?= <hello@example.com>',
    subject: 'Größe',
    text: 'It left. ✓',
    html: '<p>It left.</p>',
    headers: {
      'Auto-Submitted': 'auto-generated',
      'Feedback-ID': 'order.shipped:gatehouse',
      'List-Unsubscribe': '<https://example.com/u/1>',
    },
    tags: { delivery_id: sent.deliveryId },
    configurationSet: 'events',
  })
})

test('an event type of any characters makes header fields that SES accepts', async (t) => {
  const { fake, provider } = await setup(t)
  assert.equal((await sendOne(provider, { ...mail(), event: 'bestellung: größe ✓' })).kind, 'accepted')
  assert.equal(fake.requests[0]?.headers['Feedback-ID'], 'bestellung--gr--e--:gatehouse')
})

test('every response of SES has its result', async (t) => {
  const { fake, provider } = await setup(t, { timeout_seconds: 0.5 })
  const error = (__type: string, text: string = 'so it is') => ({
    body: { __type: `com.amazonaws.ses#${__type}`, message: text },
  })
  const table = [
    [{ status: 429, ...error('TooManyRequestsException') }, 'rate_limited'],
    [{ status: 400, ...error('LimitExceededException') }, 'rate_limited'],
    [{ status: 400, ...error('ThrottlingException') }, 'rate_limited'],
    [{ status: 500, ...error('InternalServiceErrorException') }, 'transient'],
    [{ status: 503 }, 'transient'],
    [{ status: 400, ...error('BadRequestException') }, 'permanent'],
    [{ status: 400, ...error('MessageRejected', 'Illegal content') }, 'permanent'],
    [{ status: 400, ...error('MessageRejected', 'Email address is not verified: hello@example.com') }, 'misconfigured'],
    [{ status: 400, ...error('MessageRejected', 'Email address is not verified: alice@example.com') }, 'permanent'],
    [{ status: 413 }, 'permanent'],
    [{ status: 400, ...error('AccountSuspendedException') }, 'misconfigured'],
    [{ status: 400, ...error('SendingPausedException') }, 'misconfigured'],
    [{ status: 400, ...error('MailFromDomainNotVerifiedException') }, 'misconfigured'],
    [{ status: 404, ...error('NotFoundException') }, 'misconfigured'],
    [{ status: 403, ...error('AccessDeniedException') }, 'misconfigured'],
    [{ status: 400, ...error('ExpiredTokenException') }, 'misconfigured'],
    [{ status: 200, body: { message: 'Service Unavailable' } }, 'ambiguous'],
    [{ status: 200 }, 'ambiguous'],
    ['gone', 'permanent'],
    ['drop', 'ambiguous'],
    ['hang', 'ambiguous'],
  ] as const
  for (const [behaviour, kind] of table) {
    fake.answerNext(behaviour)
    assert.equal((await sendOne(provider, mail())).kind, kind, JSON.stringify(behaviour))
  }
  fake.answerNext({ status: 429, retryAfter: 3 })
  const limited = await sendOne(provider, mail())
  assert.ok(limited.kind === 'rate_limited' && limited.retryAfterMs === 3_000 && limited.accountWide)
})

test('wrong AWS credentials are misconfigured', async (t) => {
  for (const wrong of [{ secret_access_key: 'wrong' }, { access_key_id: 'AKIDOTHER' }, { region: 'us-east-1' }]) {
    const { fake, provider } = await setup(t, wrong)
    assert.equal((await sendOne(provider, mail())).kind, 'misconfigured', JSON.stringify(wrong))
    assert.equal(fake.requests.length, 0)
  }
})

test('SES events signed by SNS in either version become reports; the certificate is cached', async (t) => {
  const { fake, provider, receive } = await setup(t)
  const sent = mail()
  await sendOne(provider, sent)
  const [{ id } = assert.fail()] = fake.requests
  const at = Math.floor(Date.now() / 1_000) * 1_000
  const kinds = [
    ['delivered', undefined],
    ['opened', undefined],
    ['clicked', undefined],
    ['complained', undefined],
    ['bounced', false],
    ['bounced', true],
  ] as const
  for (const [what, soft] of kinds) {
    const report = { message: id, what, at, ...(soft ? { soft } : {}), eventId: `${what}-${soft}` }
    const [request] = await caught((to) => fake.sendWebhook(to, [report]), '')
    const received = await receive(request)
    assert.ok(received.kind === 'reports', describe(received))
    assert.deepEqual(
      received.reports.map((each) => [each.eventId, each.deliveryId, each.report, each.soft, each.at]),
      [[`${what}-${soft}`, sent.deliveryId, what, soft, at]],
    )
  }
  const [old] = await caught((to) => fake.sendMessage(to, { SignatureVersion: '1', Message: '{}', Subject: 'SES' }), '')
  assert.equal((await receive(old)).kind, 'reports')
  assert.equal(fake.certificateRequests(), 1)
})

test('SES events that say nothing about the delivery are ignored', async (t) => {
  const { fake, receive } = await setup(t)
  const tags = { delivery_id: [mail().deliveryId] }
  for (const event of [
    { eventType: 'Send', mail: { tags } },
    { eventType: 'DeliveryDelay', mail: { tags } },
    { eventType: 'Rendering Failure', mail: { tags } },
    { eventType: 'Complaint', mail: { tags }, complaint: { complaintFeedbackType: 'not-spam' } },
    { eventType: 'Delivery', mail: {} },
    { notificationType: 'Delivery', mail: { tags: { delivery_id: [] } } },
  ]) {
    const [request] = await caught((to) => fake.sendMessage(to, { Message: JSON.stringify(event) }), '')
    assert.deepEqual(await receive(request), { kind: 'reports', reports: [] }, JSON.stringify(event))
  }
  const [request] = await caught((to) => fake.sendMessage(to, { Message: 'Successfully validated SNS topic' }), '')
  assert.match(describe(await receive(request)), /malformed: Message must be an event/)
})

test('SNS messages that are forged, changed, old or misdirected are rejected without a call', async (t) => {
  const { fake, receive, clock } = await setup(t)
  const other = await startSes({ region, ...keys })
  t.after(() => other.stop())
  const Message = JSON.stringify({ eventType: 'Bounce', mail: { tags: {} } })
  const table = [
    [{}, { Message: Message.replace('Bounce', 'Open') }, /signature/],
    [{}, { Signature: 'AAAA' }, /signature/],
    [{ SignatureVersion: '3' }, {}, /signature/],
    [{}, { Type: 'SubscriptionConfirmation' }, /signature/],
    [{ TopicArn: fake.topicArn.replace('ses-events', 'other') }, {}, /topic is not declared/],
    [{}, { SigningCertURL: `${other.url}/SimpleNotificationService-00.pem` }, /SigningCertURL/],
    [{}, { SigningCertURL: `${fake.url}/other.pem` }, /SigningCertURL/],
    [
      {},
      { SigningCertURL: 'https://sns.eu-central-1.amazonaws.com.evil.example/SimpleNotificationService-0.pem' },
      /SigningCertURL/,
    ],
    [{}, { SigningCertURL: 'not a url' }, /SigningCertURL/],
    [{ Timestamp: new Date(clock.now() - 3_700_000).toISOString() }, {}, /Timestamp/],
    [{ Timestamp: 'soon' }, {}, /Timestamp/],
    [{}, { MessageId: undefined }, /not a signed message/],
  ] as const
  for (const [fields, change, reason] of table) {
    const [request] = await caught((to) => fake.sendMessage(to, { Message, ...fields }, change), '')
    const received = await receive(request)
    assert.equal(received.kind, 'rejected', JSON.stringify({ fields, change }))
    assert.match(describe(received), reason)
  }
  assert.equal(other.certificateRequests(), 0)
})

test('messages that name new certificates cause at most ten requests a minute', async (t) => {
  const { fake, receive } = await setup(t)
  for (let count = 0; count < 30; count++) {
    const SigningCertURL = `${fake.url}/SimpleNotificationService-${count.toString(16)}.pem`
    const [request] = await caught((to) => fake.sendMessage(to, { Message: '{}' }, { SigningCertURL }), '')
    const received = await receive(request)
    if (count < 10) assert.equal(received.kind, 'rejected')
    else assert.deepEqual(received, { kind: 'unchecked', reason: 'too many certificates were requested', busy: true })
  }
  assert.equal(fake.refusals.length, 10)
})

test('a message whose certificate SNS does not return is unchecked, not rejected', async (t) => {
  const { fake, receive } = await setup(t)
  const [request] = await caught((to) => fake.sendMessage(to, { Message: '{}' }), '')
  await fake.stop()
  assert.deepEqual(await receive(request), {
    kind: 'unchecked',
    reason: 'SNS does not return its certificate',
    busy: false,
  })
})

test('the subscription to a configured topic is confirmed, at the URL of SNS only', async (t) => {
  const { fake, receive } = await setup(t)
  const [request] = await caught((to) => fake.askToConfirm(to), '')
  assert.deepEqual(await receive(request), { kind: 'reports', reports: [] })
  assert.deepEqual(fake.confirmed, [fake.topicArn])
  for (const SubscribeURL of [
    'http://169.254.169.254/latest/meta-data',
    `${fake.url}/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-central-1:999999999999:other`,
    `${fake.url}/?Action=DeleteTopic&TopicArn=${fake.topicArn}`,
  ]) {
    const [signed] = await caught((to) => fake.askToConfirm(to, { SubscribeURL }), '')
    assert.match(describe(await receive(signed)), /malformed: SubscribeURL/)
  }
  const [foreign] = await caught((to) => fake.askToConfirm(to, { TopicArn: fake.topicArn.replace('ses', 'x') }), '')
  assert.match(describe(await receive(foreign)), /rejected: its topic/)
  assert.equal(fake.confirmed.length, 1)
})

test('SES has no report reader without topics', async (t) => {
  const { provider } = await setup(t, { topic_arns: undefined })
  assert.equal(provider.reports, undefined)
})

test('certificates are requested from SNS in the region and partition of the topic', () => {
  assert.equal(snsOriginOf('arn:aws:sns:eu-central-1:123456789012:x'), 'https://sns.eu-central-1.amazonaws.com')
  assert.equal(
    snsOriginOf('arn:aws-us-gov:sns:us-gov-west-1:123456789012:x'),
    'https://sns.us-gov-west-1.amazonaws.com',
  )
  assert.equal(snsOriginOf('arn:aws-cn:sns:cn-north-1:123456789012:x'), 'https://sns.cn-north-1.amazonaws.com.cn')
})
