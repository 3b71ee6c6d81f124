import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { timeoutSeconds } from '../kind/shared-options.ts'
import { createHeaders, parseSender, type Sender, sendEach } from '../mail/mail.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import { createHttpClient, type HttpClient, parseBaseUrl, resultOfError } from '../transport/http.ts'
import { type AwsCredentials, signAwsRequest } from './aws-signature.ts'
import { createSesReportReader, deliveryTag } from './reports.ts'
import { resultOfResponse } from './send-result.ts'

const path = '/v2/email/outbound-emails'

/** Carries mail over Amazon SES, API v2 (docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html). */
export const ses = defineProvider({
  kind: 'ses',
  channels: ['email'],
  description: 'Mail over Amazon SES.',
  members: {
    region: Type.String({ pattern: '^[a-z]{2}(-[a-z]+)+-\\d$', examples: ['eu-central-1'] }),
    access_key_id: Type.String({ minLength: 1, examples: ['${AWS_ACCESS_KEY_ID}'] }),
    secret_access_key: Type.String({ minLength: 1, examples: ['${AWS_SECRET_ACCESS_KEY}'] }),
    session_token: Type.Optional(Type.String({ minLength: 1 })),
    from: Type.Optional(
      Type.String({ description: 'The sender. Default: MAIL_FROM.', examples: ['Example <hello@example.com>'] }),
    ),
    configuration_set: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        description: 'Whose event destination reports to us.',
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
          description: 'The SNS topics whose messages are believed. Needed to take reports.',
        },
      ),
    ),
    url: Type.Optional(Type.String({ description: "SES's address. Default: the region's." })),
    sns_url: Type.Optional(
      Type.String({
        description: "Where SNS's certificates are and subscriptions are confirmed. Default: the topic's region.",
      }),
    ),
    timeout_seconds: timeoutSeconds,
  },
  create(declared, context): Provider {
    const {
      region,
      access_key_id: accessKeyId,
      secret_access_key: secretAccessKey,
      session_token,
      topic_arns,
    } = declared
    const callMs = (declared.timeout_seconds ?? 10) * 1_000
    const url = parseBaseUrl('url', declared.url ?? `https://email.${region}.amazonaws.com`)
    const caller = createHttpClient(url, { timeoutMs: callMs })
    const credentials = {
      accessKeyId,
      secretAccessKey,
      ...(session_token === undefined ? {} : { sessionToken: session_token }),
    }
    const settings: Ses = {
      caller,
      url,
      region,
      credentials,
      sender: parseSender(declared.from ?? context.from),
      ...(declared.configuration_set === undefined ? {} : { configurationSet: declared.configuration_set }),
      now: () => context.clock.now(),
    }
    const snsUrl = declared.sns_url === undefined ? undefined : parseBaseUrl('sns_url', declared.sns_url)
    const webhook = topic_arns && createSesReportReader(topic_arns, snsUrl, callMs)
    return {
      name: context.name,
      channel: 'email',
      timeoutMs: callMs + 1_000,
      send: (messages, signal) => sendEach(messages, (message) => sendMail(settings, message, signal)),
      ...(webhook ? { reports: webhook } : {}),
      async close() {
        await Promise.all([caller.close(), webhook?.close()])
      },
    }
  },
})

interface Ses {
  readonly caller: HttpClient
  readonly url: URL
  readonly region: string
  readonly credentials: AwsCredentials
  readonly sender: Sender
  readonly configurationSet?: string
  now(): number
}

async function sendMail(ses: Ses, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const { caller, url, region, credentials, now } = ses
  const body = JSON.stringify(createRequestBody(message, ses))
  const folder = url.pathname.replace(/\/$/, '')
  const headers = signAwsRequest(
    { method: 'POST', host: url.host, path: `${folder}${path}`, headers: { 'content-type': 'application/json' }, body },
    credentials,
    { region, service: 'ses' },
    now(),
  )
  try {
    return resultOfResponse(
      await caller.request({ method: 'POST', path, headers, body }, signal),
      message.target.address,
      now(),
    )
  } catch (error) {
    return resultOfError(error)
  }
}

/** The mail as SES's `Simple` content. SES writes the Message-ID itself. */
function createRequestBody(message: OutgoingMessage, { sender, configurationSet }: Ses): object {
  const { deliveryId, target, content } = message
  const text = (data: string) => ({ Data: data, Charset: 'UTF-8' })
  return {
    FromEmailAddress: formatSender(sender),
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

/** A name beyond ASCII travels as an encoded word (RFC 2047), for SES takes the field as it is to stand in the mail. */
function formatSender({ name, address }: Sender): string {
  if (name === undefined) return address
  const isPlain = /^[\x20-\x7e]*$/.test(name)
  return `${isPlain ? `"${name.replace(/["\\]/g, '\\$&')}"` : `=?UTF-8?B?${Buffer.from(name).toString('base64')}?=`} <${address}>`
}
