/** What we use of aws4, which brings no types of its own. */
declare module 'aws4' {
  interface Request {
    readonly method: string
    readonly path: string
    readonly service: string
    readonly region: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly extraHeadersToIgnore: Readonly<Record<string, boolean>>
  }

  const aws4: {
    sign(
      request: Request,
      credentials: { readonly accessKeyId: string; readonly secretAccessKey: string },
    ): { readonly headers?: { readonly Authorization?: string } }
  }

  export = aws4
}
