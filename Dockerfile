# The service in an image: `docker build -t difa .`, then
# docker run --rm -p 127.0.0.1:8000:8000 -e DIFA_API_KEY=… -v "$PWD/model:/models/model:ro" difa
# The model is mounted, not copied: an image serves any model, and a model is replaced without a new image.
FROM python:3.11-slim

RUN useradd --create-home --uid 10001 difa
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir ".[serve]" && rm -rf /app/*

USER difa
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health/ready', timeout=2)"]
ENTRYPOINT ["difa", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["/models/model"]
