import { tourist } from '../../config/tour.ts'
import { createDevInbox, type DevInbox } from '../../dev-pages/inbox/dev-inbox.ts'
import type { DevSite } from '../../dev-pages/site.ts'
import { branding } from '../branding.ts'
import type { Parts } from '../parts.ts'

/** The sample shop of /dev/inbox; people sign in there where identity is here and the file declares the shop's client. */
export function composeDevInbox({ config }: Parts, site: DevSite): DevInbox {
  const { settings, file } = config
  const isDeclared = (file.clients ?? []).some(({ client_id: id }) => id === tourist.shop)
  const canSignIn = settings.services.has('identity') && isDeclared
  return createDevInbox({
    baseUrl: settings.baseUrl,
    site,
    branding: branding(config),
    signIn: canSignIn ? { issuer: settings.authUrl, clientId: tourist.shop } : undefined,
  })
}
