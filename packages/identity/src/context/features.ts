import type {
  AttemptContext,
  AudienceContext,
  BuiltInContext,
  ClientAuthenticationContext,
  ClientContext,
  DomainContext,
  LastUseContext,
  LimitRulesContext,
  MailContext,
  PageContext,
  PasswordContext,
  PlanContext,
  ProviderContext,
  ServerContext,
  TokenContext,
} from './context.ts'

/** What POST /token needs. */
export interface TokenEndpointContext extends ClientAuthenticationContext, TokenContext {}

/** What POST /introspect and POST /revoke need. */
export interface IntrospectionContext
  extends ClientAuthenticationContext,
    Pick<TokenContext, 'keys' | 'refreshMac' | 'mfa'> {}

/** What GET and POST /userinfo need. */
export interface UserinfoContext extends ServerContext, ClientContext, Pick<TokenContext, 'keys'> {}

/** What the authorization endpoint and the consent page need. */
export interface AuthorizeContext extends PageContext, ClientContext, AudienceContext, Pick<TokenContext, 'keys'> {}

/** What POST /par needs. */
export interface PushContext extends ClientAuthenticationContext, AudienceContext, Pick<TokenContext, 'lifetimes'> {}

/** What POST /device_authorization needs. */
export interface DeviceAuthorizationContext
  extends ClientAuthenticationContext,
    AudienceContext,
    Pick<TokenContext, 'lifetimes'> {}

/** What the pages of the device flow need. */
export interface DevicePageContext extends PageContext, ClientContext, AudienceContext, Pick<AttemptContext, 'limit'> {}

/** What the sign-in pages need. */
export interface LoginContext
  extends PageContext,
    MailContext,
    Pick<PasswordContext, 'passwords'>,
    Pick<AttemptContext, 'limit' | 'refund' | 'forgive'> {}

/** What the pages of the second factor need. */
export interface FactorContext extends PageContext, Pick<AttemptContext, 'limit' | 'refund'> {}
/** What the pages of passkeys need. */
export interface PasskeyContext extends PageContext, MailContext, Pick<AttemptContext, 'limit' | 'refund'> {}
/** What signing in with another identity provider needs. */
export interface FederationContext
  extends PageContext,
    MailContext,
    ProviderContext,
    PlanContext,
    Pick<AttemptContext, 'limit'> {}

/** What the logout pages need. */
export interface LogoutContext extends PageContext, ClientContext, ProviderContext, Pick<TokenContext, 'keys'> {}

/** What the account's overview needs. */
export interface OverviewContext extends PageContext, ClientContext {}

/** What the pages need that set a password: change, reset and registration. */
export interface AccountContext
  extends PageContext,
    MailContext,
    PasswordContext,
    PlanContext,
    Pick<AttemptContext, 'limit' | 'refund'> {}

/** What the page of an invitation needs. */
export interface InvitationContext extends PageContext, MailContext {}

/** What management needs. */
export interface AdminContext
  extends ServerContext,
    ClientContext,
    LastUseContext,
    PasswordContext,
    MailContext,
    PlanContext,
    DomainContext,
    BuiltInContext,
    LimitRulesContext,
    Pick<AttemptContext, 'limit'> {
  readonly features: PageContext['features']
  readonly connections: PageContext['connections']
  readonly keys: TokenContext['keys']
}

/** What the background workers need. */
export interface BackgroundContext
  extends ServerContext,
    ClientContext,
    LastUseContext,
    Pick<TokenContext, 'keys' | 'lifetimes'>,
    Pick<MailContext, 'branding' | 'encryptionKey' | 'mail'> {
  readonly features: PageContext['features']
}
