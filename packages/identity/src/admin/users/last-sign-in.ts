/** The member `last_sign_in_at`, for whom there is one. */
export function formatLastSignIn(at: number | undefined): { readonly last_sign_in_at?: string } {
  return at === undefined ? {} : { last_sign_in_at: new Date(at).toISOString() }
}
