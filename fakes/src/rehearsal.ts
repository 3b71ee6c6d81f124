import { randomBytes } from 'node:crypto'
import type { Fake } from './fake.ts'
import { startApns } from './providers/apns.ts'
import { startFcm } from './providers/fcm.ts'
import { startHttp } from './providers/http.ts'
import { startSendgrid } from './providers/sendgrid.ts'
import { startSes } from './providers/ses.ts'
import { startSmtp } from './providers/smtp.ts'
import { startTwilio } from './providers/twilio.ts'
import { startWebPush } from './providers/web-push.ts'

/** Every fake at once, and what Gatehouse has to be told to send to them. */
export interface Rehearsal {
  readonly fakes: ReadonlyMap<string, Fake>
  /** `providers:` for gatehouse.yaml. */
  readonly providers: string
  /** A new subscription of the fake browser. */
  subscribe(): string
  stop(): Promise<void>
}

/** The fakes in the order of their ports: the first has the one after the control's. */
const order = ['smtp', 'ses', 'sendgrid', 'fcm', 'apns', 'web-push', 'twilio', 'http'] as const

/** Starts all fakes on the ports after `port` (0: on free ones), with credentials made for this run. */
export async function startRehearsal(port: number): Promise<Rehearsal> {
  const made = makeCredentials()
  const started = await startAll(port, made)
  const fakes: Fake[] = Object.values(started)
  return {
    fakes: new Map(fakes.map((fake) => [fake.kind, fake])),
    providers: written(declare(started, made)),
    subscribe: () => started.webPush.subscribe(),
    async stop() {
      await Promise.all(fakes.map((fake) => fake.stop()))
    },
  }
}

type Credentials = ReturnType<typeof makeCredentials>

function makeCredentials() {
  const secret = () => randomBytes(24).toString('base64url')
  return {
    bounceSecret: secret(),
    region: 'eu-central-1',
    accessKeyId: `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
    secretAccessKey: secret(),
    apiKey: `SG.${secret()}`,
    accountSid: `AC${randomBytes(16).toString('hex')}`,
    authToken: secret(),
    secret: `whsec_${randomBytes(32).toString('base64')}`,
  }
}

type Started = Awaited<ReturnType<typeof startAll>>

async function startAll(port: number, made: Credentials) {
  const at = (kind: (typeof order)[number]) => (port === 0 ? 0 : port + 1 + order.indexOf(kind))
  return {
    smtp: await startSmtp({ bounceSecret: made.bounceSecret, port: at('smtp') }),
    ses: await startSes({ ...made, port: at('ses') }),
    sendgrid: await startSendgrid({ apiKey: made.apiKey, port: at('sendgrid') }),
    fcm: await startFcm({ port: at('fcm') }),
    apns: await startApns({ port: at('apns') }),
    webPush: await startWebPush({ port: at('web-push') }),
    twilio: await startTwilio({ ...made, port: at('twilio') }),
    http: await startHttp({ secret: made.secret, port: at('http') }),
  }
}

/** The providers as the file declares them. */
function declare({ smtp, ses, sendgrid, fcm, apns, webPush, twilio, http }: Started, made: Credentials) {
  return {
    email: [
      { provider: 'smtp', url: smtp.url, bounces: { domain: 'bounces.example.com', secret: made.bounceSecret } },
      {
        provider: 'ses',
        region: made.region,
        access_key_id: made.accessKeyId,
        secret_access_key: made.secretAccessKey,
        topic_arns: [ses.topicArn],
        url: ses.url,
        sns_url: ses.url,
      },
      { provider: 'sendgrid', api_key: made.apiKey, webhook_public_key: sendgrid.publicKey, url: sendgrid.url },
    ],
    push: [
      { provider: 'fcm', service_account: fcm.serviceAccount, url: fcm.url },
      { provider: 'apns', key: apns.key, key_id: apns.keyId, team_id: apns.teamId, topic: apns.topic, url: apns.url },
      {
        provider: 'web-push',
        public_key: webPush.publicKey,
        private_key: webPush.privateKey,
        subject: 'mailto:ops@example.com',
        hosts: ['127.0.0.1'],
        allow_private: true,
      },
      { provider: 'http', name: 'http-push', url: http.url, secret: made.secret, services: ['other'] },
    ],
    sms: [
      {
        provider: 'twilio',
        account_sid: made.accountSid,
        auth_token: made.authToken,
        from: '+15005550006',
        url: twilio.url,
      },
      { provider: 'http', name: 'http-sms', url: http.url, secret: made.secret },
    ],
  }
}

/** One line of JSON for each provider, which is YAML too. */
function written(declared: Readonly<Record<string, readonly object[]>>): string {
  const channels = Object.entries(declared).map(([channel, entries]) =>
    [`  ${channel}:`, ...entries.map((entry) => `    - ${JSON.stringify(entry)}`)].join('\n'),
  )
  return `providers:\n${channels.join('\n')}\n`
}
