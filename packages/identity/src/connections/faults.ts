import { createPrivateKey } from 'node:crypto'
import type { Fault } from '@gatehouse/kit'
import type { ConnectionDeclaration } from '../config/connections.ts'
import type { ConnectionKind } from '../model/connection.ts'
import { organizationOwner } from '../model/organization.ts'

/** Members that only some kinds have. */
const kindsOf: Readonly<Partial<Record<keyof ConnectionDeclaration, readonly ConnectionKind[]>>> = {
  tenants: ['microsoft'],
  hosted_domain: ['google'],
  team_id: ['apple'],
  private_key: ['apple', 'oidc', 'microsoft'],
  key_id: ['apple', 'oidc', 'microsoft'],
  claim_names: ['oidc'],
  // An address at GitHub is never assigned by GitHub.
  authoritative_domains: ['oidc', 'google', 'microsoft', 'apple'],
  token_endpoint_auth_method: ['oidc', 'microsoft'],
  // An address there says nothing about the company that its user works for.
  organization: ['oidc', 'google', 'microsoft'],
  logout: ['oidc', 'microsoft'],
}

const requiredOf: Readonly<Record<ConnectionKind, readonly (keyof ConnectionDeclaration)[]>> = {
  oidc: ['issuer'],
  google: ['client_secret'],
  microsoft: ['tenants'],
  apple: ['team_id', 'key_id', 'private_key'],
  github: ['client_secret'],
}

function fault(member: string, detail: string): Fault {
  return { pointer: `/${member}`, detail }
}

/** Faults of a connection that its schema can't express. `loopback` allows an issuer on this machine over http. */
export function findConnectionFaults(connection: ConnectionDeclaration, loopback: boolean): Fault[] {
  const { kind, issuer, client_secret, private_key, tenants } = connection
  const faults = requiredOf[kind]
    .filter((member) => connection[member] === undefined)
    .map((member) => fault(member, `is required for the kind ${kind}`))
  for (const [member, kinds] of Object.entries(kindsOf) as [keyof ConnectionDeclaration, readonly ConnectionKind[]][])
    if (connection[member] !== undefined && !kinds.includes(kind))
      faults.push(fault(member, `does not apply to the kind ${kind}, only to ${kinds.join(', ')}`))
  if (issuer !== undefined && !isIssuer(issuer, loopback))
    faults.push(fault('issuer', 'must be an https:// address without query and fragment'))
  if (issuer?.endsWith('/') && (kind === 'github' || kind === 'microsoft'))
    faults.push(fault('issuer', 'must not end with /'))
  if (tenants?.length === 0) faults.push(fault('tenants', 'must name at least one tenant'))
  if (kind === 'microsoft' && client_secret === undefined && private_key === undefined)
    faults.push(fault('client_secret', 'is required, or a private_key'))
  if (client_secret !== undefined && private_key !== undefined)
    faults.push(fault('client_secret', 'and private_key exclude each other'))
  if (private_key !== undefined && !isPrivateKey(private_key, kind))
    faults.push(
      fault('private_key', `must be a PEM with ${kind === 'apple' ? 'a P-256' : 'an RSA, EC or Ed25519'} key`),
    )
  return [...faults, ...findOrganizationFaults(connection)]
}

function findOrganizationFaults(connection: ConnectionDeclaration): Fault[] {
  const { organization, domains, required, add_members, member_roles, link_only } = connection
  const unvouched = (domains ?? []).filter((domain) => !connection.authoritative_domains?.includes(domain))
  const faults: (Fault | false)[] = [
    organization !== undefined &&
      domains !== undefined &&
      fault('domains', 'and organization exclude each other: the organization verifies its domains'),
    organization !== undefined && link_only === true && fault('link_only', 'does not apply with organization'),
    organization === undefined && add_members === true && fault('add_members', 'needs organization'),
    organization === undefined && member_roles !== undefined && fault('member_roles', 'needs organization'),
    member_roles?.includes(organizationOwner) === true &&
      fault('member_roles', `must not contain ${organizationOwner}: only an owner makes another`),
    required === true &&
      organization === undefined &&
      domains === undefined &&
      fault('required', 'needs organization or domains'),
    required === true && link_only === true && fault('link_only', 'does not apply with required'),
    required === true &&
      unvouched.length > 0 &&
      fault('authoritative_domains', describeUnvouched(connection, unvouched)),
  ]
  return faults.filter((one) => one !== false)
}

/**
 * Where a connection is the only way to sign in, the accounts that are not linked to it yet must be linked at their first
 * sign-in with it, which only an authoritative provider may do: else nobody could sign in to them.
 */
function describeUnvouched({ kind }: ConnectionDeclaration, domains: readonly string[]): string {
  const locked = `accounts of ${domains.join(', ')} that are not linked yet could not sign in`
  const isPossible = kindsOf.authoritative_domains?.includes(kind) ?? true
  if (!isPossible) return `is required by required with domains and does not apply to the kind ${kind}: ${locked}`
  return `must contain ${domains.join(', ')}, as required with domains does: ${locked}`
}

function isIssuer(text: string, loopback: boolean): boolean {
  const url = URL.parse(text)
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') return false
  const local = loopback && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  return url.protocol === 'https:' || (local && url.protocol === 'http:')
}

function isPrivateKey(pem: string, kind: ConnectionKind): boolean {
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPrivateKey(pem)
    if (type === 'ec') return details?.namedCurve === 'prime256v1'
    return kind !== 'apple' && (type === 'rsa' || type === 'ed25519')
  } catch {
    return false
  }
}
