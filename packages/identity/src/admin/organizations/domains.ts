import { domainToASCII } from 'node:url'
import { Problem, randomToken } from '@gatehouse/kit'
import type { Static } from 'typebox'
import type { AdminContext } from '../../context/features.ts'
import type { OrganizationDomain } from '../../store/index.ts'
import { auditOrganization, type OrganizationCaller, requireOrganization, throwNotFound } from './caller.ts'
import type { domainSchema } from './schemas.ts'

/** A domain as the API returns it. */
export type DomainResponse = Static<typeof domainSchema>

/** The DNS record that proves a domain: only its owner can publish it. */
function recordOf({ domain, challenge }: Pick<OrganizationDomain, 'domain' | 'challenge'>) {
  return { name: `_gatehouse.${domain}`, type: 'TXT', value: `gatehouse-domain-verification=${challenge}` }
}

function formatDomain(domain: OrganizationDomain): DomainResponse {
  return {
    domain: domain.domain,
    record: recordOf(domain),
    created_at: new Date(domain.createdAt).toISOString(),
    ...(domain.verifiedAt === undefined ? {} : { verified_at: new Date(domain.verifiedAt).toISOString() }),
  }
}

/** Lists the domains of an organization. @throws Problem 404 */
export async function listDomains(context: AdminContext, caller: OrganizationCaller): Promise<DomainResponse[]> {
  await requireOrganization(context, caller)
  return (await context.store.organizationDomains.list(caller.organizationId)).map(formatDomain)
}

/** Adds a domain, which is not yet verified, and returns the record that proves it. @throws Problem 404, 422, 503 */
export async function addDomain(
  context: AdminContext,
  caller: OrganizationCaller,
  name: string,
): Promise<DomainResponse> {
  const domain = parseDomain(name)
  await requireOrganization(context, caller)
  const { organizationDomains } = context.store
  const { organizationId } = caller
  if ((await organizationDomains.find(organizationId, domain)) === undefined) {
    await auditOrganization(context, caller, { action: 'organization_domains.add', after: { domain } })
    const added = { organizationId, domain, challenge: randomToken(), createdAt: context.clock.now() }
    if (!(await organizationDomains.add({ ...added, verifiedAt: undefined }))) throwNotFound('organization')
  }
  return formatDomain(await findDomain(context, caller, domain))
}

/** Verifies a domain by its DNS record. @throws Problem 404, 409, 422, 429, 503 */
export async function verifyDomain(
  context: AdminContext,
  caller: OrganizationCaller,
  name: string,
): Promise<DomainResponse> {
  const found = await findDomain(context, caller, parseDomain(name))
  const decision = await context.limit('domain-verification', { organization: caller.organizationId })
  if (!decision.allowed) {
    const headers = { 'retry-after': String(decision.retryAfter ?? 60) }
    throw new Problem(429, 'Too many verifications; wait and retry.', { headers })
  }
  await requireRecord(context, found)
  const { domain } = found
  await auditOrganization(context, caller, { action: 'organization_domains.verify', after: { domain } })
  const result = await context.store.organizationDomains.verify(found, context.clock.now())
  if (result === 'conflict') throw new Problem(409, 'Another organization has verified this domain.')
  return formatDomain(await findDomain(context, caller, domain))
}

/** @throws Problem 422 without the record, 503 when the DNS does not answer */
async function requireRecord({ resolveTxt, log }: AdminContext, domain: OrganizationDomain): Promise<void> {
  const { name, value } = recordOf(domain)
  const records = await resolveTxt(name).catch((error: unknown) => {
    log.warn({ err: error, name }, 'a domain could not be verified')
    throw new Problem(503, `The DNS servers did not answer for ${name}; retry later.`)
  })
  if (records.includes(value)) return
  throw new Problem(422, `There is no TXT record ${name} with the value ${value}.`)
}

/** Removes a domain. @throws Problem 404, 503 */
export async function removeDomain(context: AdminContext, caller: OrganizationCaller, name: string): Promise<void> {
  const { domain } = await findDomain(context, caller, parseDomain(name))
  await auditOrganization(context, caller, { action: 'organization_domains.remove', before: { domain } })
  if (!(await context.store.organizationDomains.remove(caller.organizationId, domain))) throwNotFound('domain')
}

async function findDomain(
  { store }: AdminContext,
  { organizationId }: OrganizationCaller,
  domain: string,
): Promise<OrganizationDomain> {
  return (await store.organizationDomains.find(organizationId, domain)) ?? throwNotFound('domain')
}

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const domainName = new RegExp(`^(?=.{3,240}$)${label}(?:\\.${label})+$`)

/** The domain in lower case and ASCII (IDNA). @throws Problem 422 */
function parseDomain(name: string): string {
  const domain = domainToASCII(name)
  if (domainName.test(domain) && !/^[\d.]+$/.test(domain)) return domain
  throw new Problem(422, 'The domain must be a name with at least two labels, such as example.com.')
}
