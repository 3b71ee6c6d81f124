import { domainToASCII } from 'node:url'
import { isEmailAddress } from '@gatehouse/kit'
import type { PageContext } from '../context/context.ts'
import type { Connection } from '../model/connection.ts'

type HomeContext = Pick<PageContext, 'connections' | 'store'>

/** The domain of an email address as organizations prove it: in lower case and ASCII. Undefined for no address. */
export function domainOf(address: string): string | undefined {
  if (!isEmailAddress(address)) return undefined
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1).toLowerCase()) || undefined
}

/**
 * The connection with which the users of an address's domain sign in (home realm discovery): that of the organization
 * which proved the domain, else the one whose settings name it. It depends on the domain alone, not on any account.
 */
export async function findHomeConnection(
  { connections, store }: HomeContext,
  address: string,
): Promise<Connection | undefined> {
  const domain = domainOf(address)
  if (domain === undefined || !connections.hasHomes()) return undefined
  const organizationId = await store.organizationDomains.findOrganization(domain)
  const own = organizationId === undefined ? undefined : connections.findByOrganization(organizationId)
  return own ?? connections.findByDomain(domain)
}

/** The id of the connection that is the only way to sign in for the users of this address's domain. */
export async function findRequiredConnection(
  context: HomeContext,
  address: string | undefined,
): Promise<string | undefined> {
  if (address === undefined || !(await context.connections.hasRequired())) return undefined
  const home = await findHomeConnection(context, address)
  return home?.settings.required === true ? home.id : undefined
}

/** Whether an address is of a domain that the organization of a connection proved; of any, without an organization. */
export async function isOfOrganization(
  { store }: Pick<HomeContext, 'store'>,
  { settings: { organization } }: Connection,
  address: string | undefined,
): Promise<boolean> {
  if (organization === undefined) return true
  const domain = address === undefined ? undefined : domainOf(address)
  return domain !== undefined && (await store.organizationDomains.findOrganization(domain)) === organization
}
