import { StartError } from '@gatehouse/kit'
import { type Channel, inboxProvider, mailboxProvider, type NotifyStore, type ProviderSource } from '@gatehouse/notify'
import { type Provider, providerKinds } from '@gatehouse/providers'
import { type DeclaredProvider, isOff } from '../config/config.ts'
import type { Parts } from './parts.ts'

type Providers = Partial<Record<Channel, Provider[]>>

/** The providers of each channel. With `mailbox`, a channel without a provider delivers to the dev mailbox. */
export function composeProviders(parts: Parts, store: NotifyStore, mailbox: boolean): Providers {
  const { config, clock } = parts
  const { channels = {} } = config.file
  const inbox = inboxProvider()
  const dev = (channel: Channel, onward?: Provider) =>
    mailbox ? [mailboxProvider(channel, store.mailbox, clock, onward)] : []
  const providersOf = (channel: 'email' | 'push' | 'sms') => {
    const declared = declaredFor(parts, channel).map((each) => build(parts, channel, each))
    return isOff(channels[channel]) ? {} : { [channel]: declared.length > 0 ? declared : dev(channel) }
  }
  return {
    'in-app': mailbox ? dev('in-app', inbox) : [inbox],
    ...providersOf('email'),
    ...providersOf('push'),
    ...providersOf('sms'),
  }
}

/** By name, what each declared provider is, and which setting has its credentials. */
export function providerSources(parts: Parts): Readonly<Record<string, ProviderSource>> {
  const sources = (['email', 'push', 'sms'] as const).flatMap((channel) => {
    const declared = declaredFor(parts, channel)
    const before = declared.length - (parts.config.file.providers?.[channel]?.length ?? 0)
    return declared.map(({ name, provider: kind }, index): [string, ProviderSource] => {
      const setting = index < before ? 'SMTP_URL' : `providers.${channel}[${index - before}]`
      return [name ?? kind, { kind, setting }]
    })
  })
  return Object.fromEntries(sources)
}

/** The entries of a channel, the preferred first: SMTP_URL, then those of the file. */
function declaredFor({ config: { settings, file } }: Parts, channel: Channel): readonly DeclaredProvider[] {
  const declared = file.providers?.[channel] ?? []
  if (channel !== 'email' || !settings.smtpUrl) return declared
  const smtp: DeclaredProvider & { url: string } = { provider: 'smtp', url: settings.smtpUrl.reveal() }
  return [smtp, ...declared]
}

function build({ config, clock }: Parts, channel: Channel, declared: DeclaredProvider): Provider {
  const kind = providerKinds.find((each) => each.kind === declared.provider)
  const name = declared.name ?? declared.provider
  const { mailFrom: from, baseUrl: publicUrl } = config.settings
  try {
    if (!kind) throw new RangeError(`${declared.provider} is not a provider`)
    const reportUrl = `${publicUrl}/v1/webhooks/${name}`
    return kind.createProvider(declared, { name, channel, from, reportUrl, folder: config.folder, clock })
  } catch (error) {
    if (error instanceof RangeError) throw new StartError(`providers.${channel}, ${name}: ${error.message}`)
    throw error
  }
}
