import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { from, timeoutSeconds } from '../kind/shared-options.ts'
import { createHeaders, parseSender, type Sender, sendEach } from '../mail/mail.ts'
import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { createHttpClient, type HttpClient, parseBaseUrl, resultOfError } from '../transport/http.ts'
import { type AwsCredentials, signAwsRequest } from './aws-signature.ts'
import { createSesReportReader, deliveryTag } from './reports.ts'
import { resultOfResponse } from './send-result.ts'

const path = '/v2/email/outbound-emails'
const defaultTimeoutSeconds = 10

/** Email over Amazon SES, API v2 (docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html). */
export const ses = defineProvider({
  kind: 'ses',
  channels: ['email'],
  description: 'Email over Amazon SES.',
  options: {
    region: Type.String({ pattern: '^[a-z]{2}(-[a-z]+)+-\\d$', examples: ['eu-central-1'] }),
    access_key_id: Type.String({ minLength: 1, examples: ['${AWS_ACCESS_KEY_ID}'] }),
    secret_access_key: Type.String({ minLength: 1, examples: ['${AWS_SECRET_ACCESS_KEY}'] }),
    session_token: Type.Optional(Type.String({ minLength: 1 })),
    from,
    configuration_set: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        description: 'The configuration set whose event destination publishes the reports.',
        examples: ['gatehouse'],
      }),
    ),
    topic_arns: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^arn:aws(-cn|-us-gov)?:sns:[a-z0-9-]+:\\d{12}:[A-Za-z0-9_-]{1,256}$',
          examples: ['arn:aws:sns:eu-central-1:123456789012:mail-events'],
        }),
        {
          minItems: 1,
          description: 'The SNS topics whose reports are accepted. Required to receive reports.',
        },
      ),
    ),
    url: Type.Optional(Type.String({ description: 'Base URL of SES. Default: that of the region.' })),
    sns_url: Type.Optional(
      Type.String({
        description: 'Base URL of SNS, for certificates and subscriptions. Default: that of the region of the topic.',
      }),
    ),
    timeout_seconds: timeoutSeconds,
  },
  createSender(options, context) {
    const timeoutMs = (options.timeout_seconds ?? defaultTimeoutSeconds) * 1_000
    const url = parseBaseUrl('url', options.url ?? `https://email.${options.region}.amazonaws.com`)
    const sender: SesSender = {
      client: createHttpClient(url, { timeoutMs }),
      url,
      region: options.region,
      credentials: {
        accessKeyId: options.access_key_id,
        secretAccessKey: options.secret_access_key,
        ...(options.session_token === undefined ? {} : { sessionToken: options.session_token }),
      },
      from: parseSender(options.from ?? context.from),
      ...(options.configuration_set === undefined ? {} : { configurationSet: options.configuration_set }),
      now: () => context.clock.now(),
    }
    return {
      timeoutMs: timeoutMs + 1_000,
      send: (messages, signal) => sendEach(messages, (message) => sendMail(sender, message, signal)),
      close: () => sender.client.close(),
    }
  },
  createReportReader({ topic_arns: topicArns, sns_url: snsUrl, timeout_seconds: seconds = defaultTimeoutSeconds }) {
    const url = snsUrl === undefined ? undefined : parseBaseUrl('sns_url', snsUrl)
    return topicArns && createSesReportReader(topicArns, url, seconds * 1_000)
  },
})

interface SesSender {
  readonly client: HttpClient
  readonly url: URL
  readonly region: string
  readonly credentials: AwsCredentials
  readonly from: Sender
  readonly configurationSet?: string
  now(): number
}

async function sendMail(sender: SesSender, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const { client, url, region, credentials, now } = sender
  const body = JSON.stringify(createRequestBody(message, sender))
  const folder = url.pathname.replace(/\/$/, '')
  const headers = signAwsRequest(
    { method: 'POST', host: url.host, path: `${folder}${path}`, headers: { 'content-type': 'application/json' }, body },
    credentials,
    { region, service: 'ses' },
    now(),
  )
  try {
    const response = await client.request({ method: 'POST', path, headers, body }, signal)
    return resultOfResponse(response, message.target.address, now())
  } catch (error) {
    return resultOfError(error)
  }
}

/** The mail as `Simple` content. SES sets the Message-ID itself. */
function createRequestBody(message: OutgoingMessage, { from, configurationSet }: SesSender): object {
  const { deliveryId, target, content } = message
  const text = (data: string) => ({ Data: data, Charset: 'UTF-8' })
  return {
    FromEmailAddress: formatSender(from),
    Destination: { ToAddresses: [target.address] },
    Content: {
      Simple: {
        Subject: text(content.subject ?? ''),
        Body: { Text: text(content.body), ...(content.html === undefined ? {} : { Html: text(content.html) }) },
        Headers: Object.entries(createHeaders(message)).map(([Name, Value]) => ({ Name, Value })),
      },
    },
    EmailTags: [{ Name: deliveryTag, Value: deliveryId }],
    ...(configurationSet === undefined ? {} : { ConfigurationSetName: configurationSet }),
  }
}

/** The From field. SES does not encode it, so a name beyond ASCII becomes an encoded word (RFC 2047). */
function formatSender({ name, address }: Sender): string {
  if (name === undefined) return address
  const isAscii = /^[\x20-\x7e]*$/.test(name)
  const encoded = isAscii
    ? `"${name.replace(/["\\]/g, '\\$&')}"`
    : `=?UTF-8?B?${Buffer.from(name).toString('base64')}?=`
  return `${encoded} <${address}>`
}
