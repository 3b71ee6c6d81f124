import type { Identity } from '@gatehouse/identity'
import { type Http, Secret } from '@gatehouse/kit'
import { hasDevPages, isDevelopment, leadsRootAway, type Settings } from '../../config/config.ts'
import { declaresTour, tourist } from '../../config/tour.ts'
import { createDevSite, type DevPlaces, type DevSite } from '../../dev-pages/site.ts'
import type { CallCredential } from '../../dev-pages/start/calls.ts'
import { startPagePlugin } from '../../dev-pages/start/endpoint.ts'
import type { Running } from '../../dev-pages/start/page.ts'
import { branding } from '../branding.ts'
import type { Parts } from '../parts.ts'

/** The development pages that this process serves, with the links between them. */
export function composeDevSite({ config }: Pick<Parts, 'config'>): DevSite {
  const { settings, file } = config
  const { services } = settings
  const mailbox = services.has('notify') && hasDevPages(settings, file)
  const places: DevPlaces = {
    start: hasStartPage(config),
    mailbox,
    // Its page acts as a user who sends: for this machine alone, whoever else may read the mailbox.
    inbox: mailbox && isDevelopment(settings, file) && declaresTour(file),
    ...(services.has('identity') ? { account: linkTo(settings.authUrl, '/account', settings) } : {}),
    ...(services.has('console') ? { console: linkTo(settings.console.url, '/console/', settings) } : {}),
  }
  return createDevSite(places, branding(config).textsFolder)
}

/** A path on this origin stays a path, so that it works by whatever name the browser came. */
function linkTo(url: string, path: string, { baseUrl }: Settings): string {
  return new URL(url).origin === new URL(baseUrl).origin ? path : `${url}${path}`
}

/** What the start page shows of a process that is built. */
export interface StartPageFacts extends Pick<Running, 'version' | 'database' | 'counters'> {
  readonly metricsUrl: string | undefined
  readonly identity: Identity | undefined
  /** The API key of this start, where there is one. */
  readonly developmentKey: Secret | undefined
  readonly engines: () => Promise<Running['engines']>
}

/**
 * What `/` answers: where `start_page` leads to; else the start page, where the pages under /dev/ are; else nothing. A
 * path that the file gives to an upstream stays the upstream's.
 */
export async function composeStartPage(
  parts: Pick<Parts, 'config'>,
  http: Http,
  site: DevSite,
  facts: StartPageFacts,
): Promise<void> {
  const { settings, file } = parts.config
  if (file.start_page !== undefined) {
    const location = file.start_page
    http.get('/', { schema: { hide: true } }, (_request, reply) =>
      reply.code(302).header('location', location).header('cache-control', 'no-store').send(null),
    )
    return
  }
  if (!hasStartPage(parts.config)) return
  const { identity, metricsUrl, developmentKey, engines, ...described } = facts
  const { baseUrl, authUrl, services } = settings
  const running = async (): Promise<Running> => ({
    ...described,
    services: [...services],
    elsewhere: elsewhereOf(parts),
    baseUrl,
    authUrl,
    metricsUrl: metricsUrl ?? `${baseUrl}/metrics`,
    engines: await engines(),
  })
  // Whoever else reaches a page that is open on purpose gets neither secret nor key.
  const isPrivate = isDevelopment(settings, file)
  const plugin = startPagePlugin({
    site,
    branding: branding(parts.config),
    urls: file.dev_pages ? [baseUrl, authUrl] : [],
    running,
    credential: isPrivate && declaresTour(file) ? credentialOf(identity, developmentKey) : undefined,
    renewSecret: isPrivate && identity ? () => renewSecret(identity) : undefined,
  })
  await http.register((scope) => plugin(scope as Http))
}

function hasStartPage({ settings, file }: Parts['config']): boolean {
  return hasDevPages(settings, file) && file.start_page === undefined && !leadsRootAway(file)
}

function elsewhereOf({ config: { settings } }: Pick<Parts, 'config'>): Running['elsewhere'] {
  const { services, identityUrl, notifyUrl } = settings
  return {
    ...(identityUrl && !services.has('identity') ? { identity: identityUrl } : {}),
    ...(notifyUrl && !services.has('notify') ? { notify: notifyUrl } : {}),
  }
}

function credentialOf(identity: Identity | undefined, key: Secret | undefined): CallCredential | undefined {
  if (key) return { kind: 'key', key }
  if (!identity) return undefined
  const seeded = identity.seeded.find((made) => made.kind === 'client' && made.id === tourist.client)
  return { kind: 'client', secret: seeded?.secret }
}

async function renewSecret({ management }: Identity): Promise<Secret> {
  return new Secret((await management.rotateSecret(tourist.client)).client_secret)
}
