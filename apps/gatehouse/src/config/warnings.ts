import { type Config, isDevelopment, isOff, type Settings, trustOf } from './config.ts'

/** What a start says of settings that are valid, and leave the process without something it is likely to need. */
export function warningsOf(config: Config): string[] {
  return [...whoIsAdmitted(config), ...withoutServiceClient(config), ...whereMailGoes(config)]
}

/** The console alone has sessions: it calls the others with the tokens of those. */
const takesCallers = ({ services }: Settings): boolean => services.has('notify') || services.has('gateway')

/** A process that refuses every caller answers 401 and is ready otherwise: nothing else says why. */
function whoIsAdmitted({ settings, file, origins = {} }: Config): string[] {
  const { services, authUrl } = settings
  if (!takesCallers(settings)) return []
  const trust = trustOf(settings)
  if (trust === 'keys' && (file.api_keys ?? []).length === 0 && !isDevelopment(settings, file))
    return [
      'no caller is admitted: set AUTH_URL and IDENTITY_URL for tokens of our identity service, ISSUER for those of another issuer, or `api_keys` in the file',
    ]
  // A gateway may be the address of identity too, which is the default of both.
  if (trust === 'sibling' && origins.AUTH_URL === undefined && !services.has('gateway'))
    return [`AUTH_URL is not set: only tokens of the issuer ${authUrl} are accepted, which is this process`]
  return []
}

/** What is called with the tokens of the service client. */
function withoutServiceClient({ settings }: Config): string[] {
  const { services, serviceClient, notifyUrl } = settings
  if (serviceClient) return []
  if (services.has('identity'))
    return notifyUrl && !services.has('notify')
      ? ['SERVICE_CLIENT_ID is not set: identity cannot use NOTIFY_URL, sends no mail and does not sync its users']
      : []
  if (trustOf(settings) !== 'sibling' || !takesCallers(settings)) return []
  return [
    'SERVICE_CLIENT_ID is not set: revoked tokens are accepted until they expire, opaque tokens are refused, and limits that identity stores do not apply',
  ]
}

/** Identity has no mail of its own: notify sends it. With a service client the start says so by itself. */
function whereMailGoes({ settings, file }: Config): string[] {
  const { services, serviceClient, notifyUrl, smtpUrl } = settings
  const isAlone = services.has('identity') && !services.has('notify') && !notifyUrl && !serviceClient
  if (!isAlone || isOff(file.channels?.email)) return []
  const unused = smtpUrl ? '; SMTP_URL is for notify' : ''
  return [
    `NOTIFY_URL is not set: identity sends no mail, and nobody can confirm an address or reset a password${unused}`,
  ]
}
