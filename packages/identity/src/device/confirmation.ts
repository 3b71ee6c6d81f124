import { type PageAnswer, sendPage, type Texts, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply } from 'fastify'
import type { DevicePageContext } from '../context/features.ts'
import type { Client } from '../model/client.ts'
import { type Access, withoutOwnApi } from '../model/grants/consent.ts'
import type { Membership } from '../model/organization.ts'
import { findOrganization, type OrganizationChoice, permissionsOf } from '../oauth/organization.ts'
import { listApis } from '../oauth/resource.ts'
import { findPermittedScopes, leavesNoAccess } from '../oauth/scope.ts'
import { deviceConfirmPage } from '../pages/device-pages.ts'
import { messagePage } from '../pages/error-page.ts'
import { organizationPage } from '../pages/sign-in/organization-page.ts'
import { type Browser, formToken } from '../sessions/browser.ts'
import { type Continuation, sealContinuation } from '../sessions/continuation.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'
import type { DeviceRequest } from '../store/index.ts'
import { denyRequest, type SignedIn } from './decision.ts'

/** A request whose code was entered in this session. */
export interface ClaimedRequest {
  readonly code: string
  readonly deviceRequest: DeviceRequest
  readonly client: Client
  /** The organization that the user chose, where the client named none. */
  readonly chosen?: string | undefined
}

/**
 * Sends the page on which the user decides; before it the choice of an organization, where it is open. A request that
 * the user has no power to allow is denied.
 */
export async function sendConfirmation(
  context: DevicePageContext,
  exchange: BrowserExchange,
  signedIn: SignedIn,
  claimed: ClaimedRequest,
): Promise<FastifyReply> {
  const { request, reply, browser } = exchange
  const { client, deviceRequest, chosen } = claimed
  const texts = textsFor(context, request)
  const organization = deviceRequest.organizationId ?? chosen
  const choice = await findOrganization(context, { client, organization }, signedIn.user)
  if (choice.kind === 'open')
    return sendPage(context, reply, texts, choicePage(context, texts, { browser, signedIn }, { ...claimed, ...choice }))
  const holder = { client, user: signedIn.user, permissions: permissionsOf(choice) }
  const scopes = await findPermittedScopes(context, deviceRequest.scopes, holder)
  if (choice.kind === 'denied' || leavesNoAccess(deviceRequest.scopes, scopes)) {
    await denyRequest(context, request, deviceRequest, signedIn)
    return sendPage(context, reply, texts, messagePage(texts, refusals[choice.kind]))
  }
  const shown = { scopes, resources: listApis(context, scopes, deviceRequest.resources), claims: [] }
  const page = confirmationPage(context, texts, { browser, signedIn }, { ...claimed, choice, shown })
  return sendPage(context, reply, texts, page)
}

/** What the user reads instead of the page, by the kind of the choice. */
const refusals = { denied: 'device.not_member', member: 'device.powerless', none: 'device.powerless' } as const

interface PageOwner {
  readonly browser: Browser
  readonly signedIn: SignedIn
}

function choicePage(
  context: DevicePageContext,
  texts: Texts,
  owner: PageOwner,
  { code, client, memberships }: ClaimedRequest & { readonly memberships: readonly Membership[] },
): PageAnswer {
  const { user } = owner.signedIn
  return organizationPage(texts, {
    action: '/device/organization',
    formToken: formToken(context, owner.browser),
    continuation: sealStage(context, owner, code, {}),
    client: client.name,
    user: user.email ?? user.username,
    organizations: memberships.map(({ organization }) => organization),
    formTargets: [],
  })
}

interface Confirmation extends ClaimedRequest {
  readonly choice: OrganizationChoice
  /** What the user is asked to allow. */
  readonly shown: Access
}

function confirmationPage(
  context: DevicePageContext,
  texts: Texts,
  owner: PageOwner,
  { code, deviceRequest, client, choice, shown }: Confirmation,
): PageAnswer {
  const { user } = owner.signedIn
  const organization = choice.kind === 'member' ? choice.membership.organization : undefined
  return deviceConfirmPage(texts, {
    formToken: formToken(context, owner.browser),
    continuation: sealStage(context, owner, code, { shown, organization: organization?.id }),
    code,
    client: client.name,
    user: user.email ?? user.username,
    organization: organization?.name,
    access: withoutOwnApi(context, shown),
    address: deviceRequest.address,
    userAgent: deviceRequest.userAgent,
  })
}

function sealStage(
  context: DevicePageContext,
  { browser, signedIn }: PageOwner,
  code: string,
  stage: Pick<Continuation, 'shown' | 'organization'>,
): string {
  return sealContinuation(context, browser, {
    to: '/device',
    request: { user_code: code },
    startedAt: context.clock.now(),
    consentIn: signedIn.session.id,
    ...stage,
  })
}
