/** The plan without a limit, for the platform's own services. No tier can have this name. */
export const unlimitedPlan = 'unlimited'

/** Looks up a subject's plan; undefined for an unknown subject. */
export type PlanOf = (subject: string) => Promise<{ readonly plan: string } | undefined>
